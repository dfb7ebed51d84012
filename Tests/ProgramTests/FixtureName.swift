import Foundation
import Testing

/// A fixture's place, as failures name it.
struct FixtureName: CustomTestStringConvertible, CustomStringConvertible, Sendable {
    let program: String
    let file: URL

    var description: String { "\(program)/fixtures/\(file.lastPathComponent)" }
    var testDescription: String { description }

    /// The folder with one folder per program.
    static let functions = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../functions").standardizedFileURL

    /// Every fixture of every program.
    static let all: [FixtureName] = programs.flatMap { program in
        names(in: functions.appendingPathComponent("\(program)/fixtures"))
            .filter { $0.pathExtension == "json" }
            .map { FixtureName(program: program, file: $0) }
    }

    /// Every program that takes a request or an event, by the name of its folder.
    static let programs = names(in: functions).filter {
        FileManager.default.fileExists(atPath: $0.appendingPathComponent("fixtures").path)
    }.map(\.lastPathComponent)

    private static func names(in folder: URL) -> [URL] {
        let names = try? FileManager.default.contentsOfDirectory(
            at: folder, includingPropertiesForKeys: nil)
        return (names ?? []).sorted { $0.path < $1.path }
    }
}
