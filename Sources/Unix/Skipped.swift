import Turnstone

/// Goes through many files of which some cannot be read: those are reported and counted, and the others go on.
package struct Skipped {
    package private(set) var count = 0
    private let report: (Failure) -> Void
    private var files: Set<String> = []

    package init(_ report: @escaping (Failure) -> Void) {
        self.report = report
    }

    /// The names in a folder; none where it cannot be listed.
    package mutating func names(in folder: String) throws(Failure) -> [String] {
        var names: [String] = []
        try skip { () throws(SystemError) in
            try Files.names(in: folder)
        } then: {
            names = $0
        }
        return names
    }

    /// Does something with what `read` finds out of one file, unless the file cannot be read.
    package mutating func skip<Result>(
        _ read: () throws(SystemError) -> Result, then work: (Result) throws(Failure) -> Void
    ) throws(Failure) {
        let result: Result
        do throws(SystemError) { result = try read() } catch {
            guard error.errno.isOfTheFile || error.errno == .inputOutput else {
                throw error.failure
            }
            return note(error.failure)
        }
        try work(result)
    }

    /// Does something with one file, which may turn out not to be readable.
    package mutating func skip(_ work: () throws(Failure) -> Void) throws(Failure) {
        do throws(Failure) { try work() } catch {
            guard error.file != nil else { throw error }
            note(error)
        }
    }

    /// Counts and reports a file, once: it may be looked at again.
    package mutating func note(_ failure: Failure) {
        if let file = failure.file, !files.insert(file).inserted { return }
        count += 1
        report(failure)
    }
}

extension Failure {
    /// Whether the one file that was to be used is at fault, and will be until somebody acts: others may be usable. A
    /// disk's error is none of these.
    package var isOfOneFile: Bool { file != nil && disposition == .broken }
}
