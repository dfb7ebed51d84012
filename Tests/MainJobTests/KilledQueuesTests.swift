import Glibc
import JSON
import TestSupport
import Testing
import Turnstone
import Unix

/// Drainers are killed at random: each message reaches each device, and its report says so.
@Suite struct KilledQueuesTests {
    /// - Parameter isSplit: whether each service has several queues, whose number changes.
    @Test(arguments: [false, true]) func nothingIsLost(isSplit: Bool) throws {
        let seed = UInt64.random(in: 0...99_999)
        var dice = Dice(seed: seed)
        let world = try World.withAllServices()
        let players = (1...8).map(Int64.init)
        for player in players { try world.registerAllKinds(of: player, Int(player)) }
        var messages: [(id: String, count: Int)] = []
        var kills = 0
        for number in 0..<12 {
            let chosen = players.filter { _ in dice.next(below: 2) == 0 } + [players[0]]
            let users = Set(chosen).sorted().map { JSONValue.string("\($0)") }
            if isSplit { world.variables["TURNSTONE_SHARDS"] = "\(1 + dice.next(below: 3))" }
            let id = try world.sent([
                "users": .array(users), "title": .string("message \(number)"),
                "collapse_id": .string("m\(number)"),
            ])
            messages.append((id, users.count))
            let drainer = try world.start("deliver")
            usleep(UInt32(2_000 + dice.next(below: 60_000)))
            for queue in queues(in: world) where dice.next(below: 3) > 0 {
                guard let process = drainerProcess(of: queue, in: world) else { continue }
                if kill(process, SIGKILL) == 0 { kills += 1 }
            }
            _ = try drainer.end()
        }
        for _ in 0..<60 where !world.spooled().isEmpty {
            try world.advance(seconds: 5)
            _ = try world.start("deliver").end()
        }
        let note: Comment = "seed \(seed)"
        #expect(kills > 0, note)
        #expect(world.spooled().isEmpty, note)
        let total = messages.reduce(0) { $0 + $1.count }
        for service in ["apns", "fcm"] {
            #expect(
                try world.simulator.report(service)["distinct_ids"] == .integer(Int64(total)), note)
        }
        let shown = try world.pushes(of: "web").map {
            [
                $0["subscription"]?.string,
                $0["payload"]?.object?["notification"]?.object?["title"]?.string,
            ]
        }
        #expect(Set(shown).count == total, note)
        for (id, count) in messages {
            let report = try world.report(id)
            #expect(report["state"] == "done", note)
            #expect(report["counts"] == ["accepted": .integer(Int64(count * 3))], note)
        }
    }

    private func queues(in world: World) -> [String] {
        world.state.files().keys.filter { $0.hasSuffix("/drainer.lock") }.sorted()
            .map { String($0.dropFirst("spool/".count).dropLast("/drainer.lock".count)) }
    }

    /// The process that drains a queue, by the queue's lock file.
    private func drainerProcess(of queue: String, in world: World) -> pid_t? {
        guard let bytes = world.state.read("spool/\(queue)/drainer.lock"),
            let sign = try? JSON.parse(bytes.filter { $0 != UInt8(ascii: " ") }).object,
            sign["ended"] != true, let process = sign["pid"]?.integer,
            // Another process may have its number by now.
            let drainer = OtherProcess(
                process, program: queue.hasPrefix("web") ? "deliver-web" : "deliver")
        else { return nil }
        return drainer.id
    }
}
