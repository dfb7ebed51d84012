import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// A folder of the spool that nobody can enter for a while.
@Suite struct ClosedFolderTests {
    /// The folder of everything that waits for one moment.
    private func folder(of world: World) throws -> String {
        let waiting = "\(world.state.path)/spool/apns/waiting"
        let names = try FileManager.default.contentsOfDirectory(atPath: waiting)
        return try "\(waiting)/\(#require(names.first))"
    }

    /// Why nobody can enter a folder.
    enum Fault: CaseIterable { case loop, anotherFile, linkToNothing }

    private func close(_ folder: String, _ fault: Fault = .loop) throws {
        try #require(rename(folder, "\(folder)-away") == 0)
        switch fault {
        case .loop: try #require(symlink(folder, folder) == 0)
        case .anotherFile:
            try #require(FileManager.default.createFile(atPath: folder, contents: nil))
        case .linkToNothing: try #require(symlink("/not/mounted", folder) == 0)
        }
    }

    private func open(_ folder: String) throws {
        try #require(unlink(folder) == 0 && rename("\(folder)-away", folder) == 0)
    }

    @Test(
        "what is cancelled meanwhile is not sent afterwards", arguments: Fault.allCases,
        [false, true])
    func cancelled(fault: Fault, isSeenByADrainer: Bool) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let id = try world.sent([
            "users": ["ann"], "title": "Later", "send_after": .integer(world.now / 1000 + 60),
        ])
        let folder = try folder(of: world)
        try close(folder, fault)
        let answer = try world.callOff(id)
        #expect(answer.status == 202, "\(answer.body)")
        #expect(answer.json?.object?["state"] == "cancelling", "\(answer.body)")
        if isSeenByADrainer {
            // Others' messages go out.
            try world.give("ben", devices: 2...2)
            let other = try world.sent(["users": ["ben"], "title": "Now"])
            try world.run("deliver")
            #expect(try world.report(other)["counts"] == ["accepted": 1])
        }
        try open(folder)
        try world.advance(seconds: 61)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["cancelled": 1])
        #expect(try world.acceptedIDs().count == (isSeenByADrainer ? 1 : 0))
        #expect(world.spooled().isEmpty)
    }

    @Test("a message in it is neither gone nor done")
    func reported() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let id = try world.sent([
            "users": ["ann"], "title": "Later", "send_after": .integer(world.now / 1000 + 60),
        ])
        let folder = try folder(of: world)
        try close(folder)
        #expect(try world.report(id)["state"] == "waiting")
        try open(folder)
        try world.advance(seconds: 61)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["accepted": 1])
    }

    @Test("others are sent what is ready while nobody can look into the folder of what waits")
    func waiting() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        _ = try world.sent([
            "users": ["ann"], "title": "Later", "send_after": .integer(world.now / 1000 + 60),
        ])
        let now = try world.sent(["users": ["ann"], "title": "Now"])
        let folder = "\(world.state.path)/spool/apns/waiting"
        try close(folder)
        try world.run("deliver")
        #expect(try world.report(now)["counts"] == ["accepted": 1])
        #expect(try world.problems().contains("files unusable"))
        try open(folder)
        try world.advance(seconds: 61)
        try world.run("deliver")
        #expect(try world.acceptedIDs().count == 2)
        #expect(try !world.problems().contains("files unusable"))
    }

    @Test("a cancelled message stays cancelled though its damaged file is repaired")
    func repaired() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let id = try world.sent(["users": ["ann"], "title": "Hello"])
        let name = "spool/apns/ready/normal/\(id).jsonl"
        let text = String(decoding: try #require(world.state.read(name)), as: UTF8.self)
        try world.state.write(
            text.replacing(#""version":1"#, with: #""version":99"#), to: name)
        try world.run("deliver")
        #expect(world.state.read("spool/apns/failed/\(id).jsonl") != nil)
        let answer = try world.callOff(id)
        #expect(
            answer.status == 200 && answer.json?.object?["state"] == "damaged", "\(answer.body)")
        // A drainer leaves the request alone until the file comes back.
        _ = try world.sent(["users": ["ann"], "title": "Another"])
        try world.run("deliver")
        try world.state.remove("spool/apns/failed/\(id).jsonl")
        try world.state.write(text, to: name)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["cancelled": 1])
        #expect(try world.acceptedIDs().count == 1)
    }

    @Test(
        "what is held in it is held, and can be cancelled", arguments: Fault.allCases,
        [false, true])
    func held(fault: Fault, isOfMoment: Bool) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.give("ben", devices: 2...2)
        try world.change("ann") {
            $0.preferences.mutedUntil = Timestamp(milliseconds: world.now) + .minutes(60)
        }
        let ids = try (0..<2).map { _ in
            try world.sent(["users": ["ann", "ben"], "title": "Hello"])
        }
        try world.run("deliver")
        var folder = "\(world.state.path)/spool/apns/held"
        if isOfMoment {
            let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            folder += try "/\(#require(names.first { $0 != "released" }))"
        }
        try close(folder, fault)
        #expect(try world.report(ids[0])["counts"] == ["accepted": 1, "held": 1])
        let answer = try world.callOff(ids[0])
        #expect([200, 202].contains(answer.status), "\(answer.body)")
        try open(folder)
        try world.advance(seconds: 3700)
        try world.run("deliver")
        #expect(try world.report(ids[0])["counts"] == ["accepted": 1, "cancelled": 1])
        #expect(try world.report(ids[1])["counts"] == ["accepted": 2])
    }

    @Test("an erasure says what it could not look into: the boxes of quiet hours")
    func erased() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        _ = try world.sent(["users": ["ann"], "title": "Hello"])
        try FileManager.default.createDirectory(
            atPath: "\(world.state.path)/spool/apns/held", withIntermediateDirectories: true)
        try close("\(world.state.path)/spool/apns/held")
        let answer = try Answer(
            event: world.startBackend("users", world.message("DELETE", "/api/users/ann")).end()
                .stdout)
        #expect(answer.status == 200, "\(answer.body)")
        let erased = answer.json?.object?["erased"]?.object ?? answer.json?.object
        // The folder, and that of the releases in it.
        #expect(erased?["unreadable"] == 2, "\(answer.body)")
        #expect(try world.problems().contains("files unusable"))
    }
}
