import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// Receipts that could not be read and were set aside by a drainer: what they say is missing, what comes after
/// them is not, and once they have their name again nothing is counted twice.
@Suite struct SetAsideReceiptsTests {
    /// A message arrived, and a drainer has set its receipts aside.
    private func begin() throws -> (world: World, first: String, path: String) {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        let first = try world.sent(["users": ["1"], "title": "One"])
        try world.run("deliver")
        #expect(try world.accepted() == ["apns": 1, "fcm": 1, "web": 1])
        let path = try setAside("apns", of: world)
        return (world, first, path)
    }

    /// Makes the newest receipts of a queue unreadable, and lets a drainer find them.
    ///
    /// - Returns: their path. The file itself is beside it, with `.away` added to its name.
    private func setAside(_ queue: String, of world: World) throws -> String {
        let name = try #require(
            world.state.files().keys.filter { $0.hasPrefix("receipts/") && $0.contains(queue) }
                .max())
        let path = "\(world.state.path)/\(name)"
        try #require(rename(path, "\(world.state.path)/away") == 0 && mkdir(path, 0o700) == 0)
        _ = try world.sent(["users": ["1"], "title": "Found"])
        try world.run("deliver")
        #expect(Files.copies(of: path).count == 1)
        return path
    }

    /// Gives them their name again, as FORMAT.md says.
    private func restore(_ path: String, of world: World) throws {
        for copy in Files.copies(of: path) { try FileManager.default.removeItem(atPath: copy) }
        try #require(access(path, F_OK) != 0)
        try #require(rename("\(world.state.path)/away", path) == 0)
    }

    private enum Files {
        static func copies(of path: String) -> [String] {
            let url = URL(fileURLWithPath: path)
            let folder = url.deletingLastPathComponent().path
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return names.filter { $0.hasPrefix("\(url.lastPathComponent).unreadable-") }
                .map { "\(folder)/\($0)" }
        }
    }

    @Test("a later message is cancelled as ever, also one that may have arrived")
    func cancelled() throws {
        let (world, first, _) = try begin()
        try world.simulator.perform(["do": "apns-fault", "kind": "drop", "count": 1])
        let id = try world.sent(["users": ["1"], "title": "Two"])
        _ = try world.start("deliver").end()
        let answer = try world.callOff(id)
        #expect(answer.status == 202, "\(answer.body)")
        try world.advance(seconds: 3600)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["accepted": 3])
        // Of an earlier one it is not known.
        #expect(try world.callOff(first).status == 500)
        #expect(try world.report(first)["counts"] == ["accepted": 2, "damaged": 1])
    }

    @Test("a later message that reaches nobody takes its number back")
    func badge() throws {
        let (world, _, _) = try begin()
        for service in ["apns", "fcm", "web"] {
            try world.simulator.perform(["do": .string("\(service)-fault"), "status": 503])
        }
        let id = try world.sent(["users": ["1"], "title": "T", "badge": "+1", "expires_in": 60])
        try world.run("deliver")
        #expect(try world.document(1)["badge"] == 1)
        try world.advance(seconds: 3600)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["expired": 3])
        #expect(try world.document(1)["badge"] ?? 0 == 0)
    }

    @Test("restored, they say again what arrived, and nothing is taken back")
    func restored() throws {
        let world = try World.withAllServices()
        try world.register(token(1), of: 1)
        try world.registerAndroidPhone(1, of: 1)
        _ = try world.sent(["users": ["1"], "title": "Zero"])
        try world.run("deliver")
        try world.simulator.perform(["do": "fcm-fault", "status": 503])
        let id = try world.sent(["users": ["1"], "title": "T", "badge": "+1", "expires_in": 600])
        try world.run("deliver")
        let path = try setAside("apns", of: world)
        try world.advance(seconds: 700)
        try restore(path, of: world)
        try world.run("deliver")
        try world.advance(seconds: 3600)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["accepted": 1, "expired": 1])
        #expect(try world.document(1)["badge"] == 1)
    }

    @Test("counts say that some are missing, and count each once when they are back")
    func counted() throws {
        let world = try World()
        try world.give("1", devices: 1...1)
        _ = try world.sent(["users": ["1"], "title": "One"])
        try world.run("deliver")
        let before = try pushes(of: world)
        #expect(before["complete"] == true)
        let path = try setAside("apns", of: world)
        #expect(try pushes(of: world)["complete"] == false)
        try restore(path, of: world)
        let after = try pushes(of: world)
        #expect(after["complete"] == true)
        let total = after["day"]?.object?["total"]?.object
        #expect(total?["accepted"] == 2, "\(after)")
    }

    @Test("also if nothing else was ever counted")
    func only() throws {
        let world = try World()
        try world.give("1", devices: 1...1)
        _ = try world.sent(["users": ["1"], "title": "One"])
        try world.run("deliver")
        let path = try setAside("apns", of: world)
        for name in world.state.files().keys
        where name.hasPrefix("receipts/") && !name.contains("unreadable") {
            try world.state.remove(name)
        }
        #expect(Files.copies(of: path).count == 1)
        #expect(try pushes(of: world)["complete"] == false)
    }

    private func pushes(of world: World) throws -> JSONObject {
        let answer = try Answer(
            event: world.startBackend("status", world.message("GET", "/api/status")).end().stdout)
        return try #require(answer.json?.object?["pushes"]?.object, "\(answer.body)")
    }

    @Test("health says how to get them back")
    func action() throws {
        let (world, _, _) = try begin()
        let message = try #require(
            world.problemMessages().first { $0.contains("receipts/") })
        #expect(message.contains("its name without .unreadable-"), "\(message)")
    }
}
