import Foundation
import JSON
import Turnstone

/// A running simulator: OGS and APNs on loopback, with certificates and a key of its own.
///
/// It ends with the value's last reference, and also if the tests are killed.
package final class Simulator {
    /// The folder with its certificates, key and `simulator.env`.
    package let folder: TemporaryFolder
    /// The members that it printed when it began to listen: `ogs`, `apns`, `ca`, `apns_key`, and so on.
    package private(set) var addresses: JSONObject = [:]
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var received: [UInt8] = []

    /// - Parameter first: another one, whose certificates and key it has.
    package init(_ options: [String] = [], like first: Simulator? = nil) throws {
        folder = TemporaryFolder()
        for (name, bytes) in first?.folder.files() ?? [:] { try folder.write(bytes, to: name) }
        process.executableURL = URL(fileURLWithPath: Programs.path("simulator"))
        process.arguments = ["--folder", folder.path, "--until-stdin-ends"] + options
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let line = try nextLine()
        guard let said = try JSON.parse(line).object else {
            throw TestFailure("the simulator does not say where it is")
        }
        addresses = said
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// The variables that lead Turnstone here, as in `simulator.env`.
    package var environment: [String: String] {
        let text = String(decoding: folder.read("simulator.env") ?? [], as: UTF8.self)
        let lines = text.split(separator: "\n").map { $0.split(separator: "=", maxSplits: 1) }
        return Dictionary(uniqueKeysWithValues: lines.map { (String($0[0]), String($0[1])) })
    }

    /// Gives a command and takes its answer.
    ///
    /// - Throws: the simulator's complaint.
    @discardableResult
    package func perform(_ command: JSONObject) throws -> JSONObject {
        let line = JSON.text(.object(command)) + [UInt8(ascii: "\n")]
        try input.fileHandleForWriting.write(contentsOf: Data(line))
        guard let answer = try JSON.parse(try nextLine()).object else {
            throw TestFailure("the simulator's answer is no object")
        }
        guard answer["ok"] == true else {
            throw TestFailure(answer["error"]?.string ?? "the simulator refuses the command")
        }
        return answer
    }

    /// Waits until so many pushes were accepted in all.
    ///
    /// - Returns: whether they were, in that time.
    package func waitForPushes(_ count: Int, milliseconds: Int64 = 10_000) throws -> Bool {
        let command: JSONObject = [
            "do": "wait", "pushes": .integer(Int64(count)), "ms": .integer(milliseconds),
        ]
        return try perform(command)["reached"] == true
    }

    /// The requests to APNs: counts, and each push with its answer under `pushes`.
    package func apns() throws -> JSONObject { try report("apns") }

    /// The requests to OGS.
    package func ogs() throws -> JSONObject { try report("ogs") }

    /// Every push that came, in its order.
    package func pushes() throws -> [JSONObject] {
        try apns()["pushes"]?.array?.compactMap(\.object) ?? []
    }

    /// The requests to one of the services: `apns`, `fcm`, `web` or `ogs`.
    package func report(_ part: String) throws -> JSONObject {
        guard let report = try perform(["do": "report"])[part]?.object else {
            throw TestFailure("the report has no \(part)")
        }
        return report
    }

    private func nextLine() throws -> [UInt8] {
        var searched = 0
        while true {
            if let end = received[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { received.removeFirst(end + 1) }
                return Array(received[..<end])
            }
            // A report of thousands of pushes comes in many pieces.
            searched = received.count
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { throw TestFailure("the simulator has ended") }
            received += more
        }
    }
}
