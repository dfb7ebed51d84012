import CUnix
import Foundation
import TestSupport
import Testing
import Turnstone

extension UnusableFilesTests {
    private static let parts = ["reasons", "devices", "preferences", "turns", "waiting", "events"]

    /// Each place, and the members of a user's timeline that need it.
    private static let statusPlaces: [(place: String, missing: [String])] = [
        ("delivery.json", ["reasons"]), ("ogs.json", ["reasons"]),
        ("users/eb/1783478.json", parts),
        ("version.json", parts), ("watch/eb/1783478", ["look", "reasons"]),
    ]

    @Test(
        "a user's timeline tells what is known, and what cannot be read",
        arguments: Fault.allCases, statusPlaces)
    func timeline(fault: Fault, row: (place: String, missing: [String])) throws {
        try watchPlayer()
        try state.write("", to: row.place + ".made")
        fault.make("\(state.path)/\(row.place)")
        try expectTimeline(without: row.missing, naming: row.place)
    }

    @Test(
        "so it does where a document is damaged, or a file stands in a folder's place",
        arguments: [
            ("delivery.json", ["reasons"]), ("users/eb/1783478.json", parts),
            ("receipts", ["events"]), ("users", parts),
        ])
    func damagedTimeline(place: String, missing: [String]) throws {
        try watchPlayer()
        try? FileManager.default.removeItem(atPath: "\(state.path)/\(place)")
        try state.write("{", to: place)
        try give()
        try expectTimeline(without: missing, naming: place)
    }

    @Test("a damaged record of the cycles is named, and counts as written when its file was")
    func damagedCycles() throws {
        try watchPlayer()
        try state.write("", to: "watch/eb/1783478")
        try state.write(#"{"version":1,"completed_at":"#, to: "cycle.json")
        try give()
        let (answer, log) = try ask("status", "GET", "/api/status")
        #expect(answer.status == 200 && log.contains("cycle.json"), "\(answer.body) \(log)")
        #expect(answer.json?.object?["unavailable"] == ["cycles"], "\(answer.body)")
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1_763_700_000)],
            ofItemAtPath: "\(state.path)/cycle.json")
        #expect(try health().contains("has not completed a cycle since 2025-11-21T04:40:00"))
    }

    private func expectTimeline(without missing: [String], naming place: String) throws {
        let (answer, log) = try ask("status", "GET", "/api/status/1783478")
        #expect(answer.status == 200, "\(answer.body) \(log)")
        let body = try #require(answer.json?.object)
        #expect(body["unavailable"]?.texts == missing, "\(answer.body)")
        let problems = body["problems"]?.array ?? []
        #expect(problems.count == 1, "\(answer.body)")
        let message = problems.first?.object?["message"]?.string ?? ""
        #expect(message.contains("\(state.path)/\(place)"), "\(message)")
        #expect(problems.first?.object?["action"]?.string?.isEmpty == false)
        // What does not need the file is there; of the reasons, those that are known.
        for part in Self.parts where part == "reasons" || !missing.contains(part) {
            let isThere = !missing.contains("devices") || part != "reasons"
            #expect((body[part] != nil) == isThere, "\(part): \(answer.body)")
        }
        if !missing.contains("devices") {
            #expect(body["devices"]?.array?.count == 1, "\(answer.body)")
            let reasons = body["reasons"]?.array?.compactMap { $0.object?["reason"]?.string } ?? []
            // Without the mark of the last look nothing is known to be in the way.
            #expect(reasons.isEmpty == missing.contains("look"), "\(answer.body)")
        }
        #expect(log.contains(place), "\(log)")
    }
}
