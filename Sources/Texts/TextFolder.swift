import JSON
import Turnstone
import Unix

/// The folder with the texts of turn notices: a file for each language, such as `de.json` or `zh-Hans.json`.
///
/// Files may be replaced while a program runs. Without the folder, or a file for a language, the texts are
/// English. Only for programs that use it on one thread.
package final class TextFolder {
    private let path: String
    /// Whether the configuration names the folder.
    private let isNamed: Bool
    private var languages: [LanguageTag] = []
    /// When the folder was last listed.
    private var listed: Instant?
    private var known: [LanguageTag: Known] = [:]
    /// Called once with the failure of each file that cannot be used.
    private let report: (Failure) -> Void
    private var reported: Set<String> = []

    private struct Known {
        let stamp: Files.Stamp?
        let texts: TurnTexts
    }

    package init(_ settings: TurnSettings, report: @escaping (Failure) -> Void) {
        path = settings.textsFolder
        isNamed = settings.isTextsFolderNamed
        self.report = report
    }

    /// The texts for a reader of a language, which is `nil` if it is not known.
    package func texts(for language: LanguageTag?) -> TurnTexts {
        list()
        let nearest = language?.nearest(among: languages)
        guard let chosen = nearest ?? LanguageTag.english.nearest(among: languages) else {
            return .english
        }
        return texts(in: chosen)
    }

    /// Lists the folder at most once a second.
    private func list() {
        let moment = Instant.now
        if let listed, moment - listed < .seconds(1) { return }
        listed = moment
        do throws(Failure) { languages = try files().map { $0.language } } catch {
            languages = []
            reportOnce(error)
        }
    }

    private func files() throws(Failure) -> [(language: LanguageTag, name: String)] {
        var names: [String] = []
        do throws(SystemError) {
            if isNamed { _ = try FileDescriptor.open(path, .folder) }
            names = try Files.names(in: path)
        } catch {
            throw .misconfigured(
                "TURN_TEXTS: cannot read the folder \(path): \(error.reasonForFolder)")
        }
        return names.sorted().compactMap { name in
            guard name.utf8.suffix(5).elementsEqual(".json".utf8) else { return nil }
            let tag = LanguageTag(String(decoding: Array(name.utf8.dropLast(5)), as: UTF8.self))
            return tag.map { ($0, name) }
        }
    }

    private func texts(in language: LanguageTag) -> TurnTexts {
        let file = "\(path)/\(language.text).json"
        var stamp: Files.Stamp?
        do throws(SystemError) { stamp = try Files.stamp(of: file) } catch {}
        if let last = known[language], last.stamp == stamp { return last.texts }
        var texts = TurnTexts.english
        do throws(Failure) { texts = try read(file) { reportOnce($0) } } catch {
            reportOnce(error)
        }
        known[language] = Known(stamp: stamp, texts: texts)
        return texts
    }

    /// - Parameter problem: called for each text that cannot be used.
    private func read(
        _ file: String, problem: (Failure) -> Void
    ) throws(Failure) -> TurnTexts {
        var bytes: [UInt8]?
        do throws(SystemError) { bytes = try Files.contents(ofOperatorFile: file) } catch {
            throw .misconfigured(
                "TURN_TEXTS: cannot read the file \(file): \(error.reasonForFile)")
        }
        guard let bytes else { return .english }  // removed meanwhile
        var members: JSONObject?
        do throws(JSONError) { members = try JSON.parse(bytes).object } catch {
            throw .misconfigured("TURN_TEXTS: \(error.sentence(about: "the file \(file)"))")
        }
        guard let members else {
            throw .misconfigured("TURN_TEXTS: the file \(file) must hold a JSON object")
        }
        return TurnTexts(members) { sentence in
            problem(.misconfigured("TURN_TEXTS: the file \(file): \(sentence)"))
        }
    }

    private func reportOnce(_ failure: Failure) {
        if reported.insert(failure.sentence).inserted { report(failure) }
    }

    /// Throws misconfigured unless all files can be used.
    @export(interface)
    package func check() throws(Failure) {
        for (language, name) in try files() {
            let file = "\(path)/\(name)"
            guard "\(language.text).json".utf8.elementsEqual(name.utf8) else {
                throw .misconfigured(
                    "TURN_TEXTS: the file \(file) must be named \(language.text).json")
            }
            var first: Failure?
            _ = try read(file) { first = first ?? $0 }
            if let first { throw first }
        }
    }
}
