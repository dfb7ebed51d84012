import Foundation

/// Nicolas Seriot's collection of JSON texts (JSONTestSuite), read from the folder that `TURNSTONE_VECTORS`
/// names; tests that need it are skipped elsewhere.
package enum JSONTestSuite {
    private static let folder = ProcessInfo.processInfo.environment["TURNSTONE_VECTORS"].map {
        "\($0)/json-test-suite/test_parsing"
    }

    package static let isThere = folder.map { FileManager.default.fileExists(atPath: $0) } ?? false

    /// RFC 8259's verdict on a text.
    package enum Verdict: Character {
        case accept = "y"
        case refuse = "n"
        /// Either will do.
        case free = "i"
    }

    package struct Text {
        /// The file's name without its ending.
        package let name: String
        package let verdict: Verdict
        package let bytes: [UInt8]
    }

    package static func texts() throws -> [Text] {
        let folder = folder ?? ""
        return try FileManager.default.contentsOfDirectory(atPath: folder).sorted().compactMap {
            name in
            guard name.hasSuffix(".json"), let verdict = name.first.flatMap(Verdict.init) else {
                return nil
            }
            let data = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)"))
            return Text(name: String(name.dropLast(5)), verdict: verdict, bytes: Array(data))
        }
    }
}
