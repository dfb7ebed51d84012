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

    private func close(_ folder: String) throws {
        try #require(rename(folder, "\(folder)-away") == 0 && symlink(folder, folder) == 0)
    }

    private func open(_ folder: String) throws {
        try #require(unlink(folder) == 0 && rename("\(folder)-away", folder) == 0)
    }

    @Test("what is cancelled meanwhile is not sent afterwards", arguments: [false, true])
    func cancelled(isSeenByADrainer: Bool) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let id = try world.sent([
            "users": ["ann"], "title": "Later", "send_after": .integer(world.now / 1000 + 60),
        ])
        let folder = try folder(of: world)
        try close(folder)
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
}
