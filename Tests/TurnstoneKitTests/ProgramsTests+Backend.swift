import Foundation
import TestSupport
import Testing
import TurnstoneKit

/// What a backend asks, and what becomes of its messages.
extension ProgramsTests {
    private func backend() -> ServerClient { ServerClient(at: address, key: Self.serverKey) }

    @Test func aBackendsWayThroughAllRoutes() async throws {
        let ann = try app()
        let device = try await ann.register(.apple(token), name: "iPhone")
        let client = backend()
        #expect(try await client.user("ann").devices.map(\.id) == [device.id])
        let changed = try await client.change(
            "ann", ["tags": .object(["role": .string("admin")]), "language": .string("de")])
        #expect(changed.profile["language"] == .string("de"))
        #expect(changed.preferences.kinds.isEmpty && changed.badge == 0)

        let admins: [TurnstoneKit.JSONValue] = [
            .object([
                "field": .string("tag"), "key": .string("role"), "relation": .string("="),
                "value": .string("admin"),
            ])
        ]
        #expect(try await client.segments().isEmpty)
        let segment = try await client.makeSegment("Admins", filters: admins)
        #expect(try await client.segments() == [segment])
        #expect(try await client.segment(segment.id) == segment)
        #expect(try await client.changeSegment(segment.id, name: "Chiefs").name == "Chiefs")
        #expect(try await client.count(Audience(segments: ["Chiefs"])).users == 1)
        #expect(try await client.count(.everyone).devices == 1)
        let others = Audience(segments: [segment.id], excludedSegments: ["Chiefs"])
        #expect(try await client.count(others).devices == 0)
        #expect(try await client.count(Audience(filters: admins)).skipped == 0)
        try await client.removeSegment(segment.id)
        do {
            _ = try await client.count(Audience(segments: ["Chiefs"]))
            Issue.record("a segment was there after its removal")
        } catch {
            guard case .refused(status: 422, _) = error else { throw error }
        }

        let message = Message(
            title: "News", body: "The list is out", data: ["list": .int(7)], kind: "news",
            sendAfter: Date(timeIntervalSinceNow: 3600), others: ["badge": .int(3)])
        let accepted = try await client.send(
            message, to: Audience(users: ["ann"]), idempotencyKey: "list-7")
        #expect(accepted.devices == 1 && accepted.skipped == 0)
        let again = try await client.send(
            message, to: Audience(users: ["ann"]), idempotencyKey: "list-7")
        #expect(again.id == accepted.id)
        let report = try await client.report(on: accepted.id)
        #expect(
            report.state == "waiting" && report.kind == "news" && report.counts == ["waiting": 1])
        #expect(report.sendAfter.map { $0 > Date() } == true)
        #expect(report.devices.map(\.id) == [device.id])
        #expect(try await client.cancel(accepted.id).state == "cancelled")
        #expect(try await client.cancel(accepted.id).counts == ["cancelled": 1])

        let task = try await client.send(
            event: "task_assignment",
            values: [
                "taskName": .string("Painting"), "projectName": .string("Harbour View"),
                "taskId": .string("t-1"), "projectId": .string("p-1"),
            ], to: Audience(devices: [PushToken.apple(token).text]))
        #expect(task.devices == 1)

        #expect(try await client.erase("ann").devices == 1)
        #expect(try await ann.devices().isEmpty)
        do {
            _ = try await client.user("ann")
            Issue.record("an erased user was known")
        } catch {
            guard case .notFound = error else { throw error }
        }
        do {
            _ = try await ServerClient(at: address, key: "wrong").segments()
            Issue.record("a wrong key was right")
        } catch {
            guard case .unauthorized = error else { throw error }
        }
    }

    @Test func theHistorySaysWhatBecameOfEachMessage() async throws {
        let ann = try app()
        let device = try await ann.register(.apple(token), name: "iPhone")
        let client = backend()
        for number in 1...3 {
            let sent = try await client.send(
                Message(
                    title: "News", kind: "news-\(number)",
                    sendAfter: Date(timeIntervalSinceNow: 300)),
                to: Audience(users: ["ann"]))
            try await client.cancel(sent.id)
        }
        let first = try await ann.notifications(limit: 2)
        #expect(first.notifications.map(\.outcome) == ["cancelled", "cancelled"])
        #expect(first.notifications.allSatisfy { $0.device == device.id && !$0.mayHaveArrived })
        #expect(first.notifications.first?.deviceName == "iPhone" && !first.stopped)
        let next = try #require(first.next)
        let rest = try await ann.notifications(after: next)
        #expect(rest.notifications.count == 1 && rest.next == nil)
        #expect(rest.notifications.first?.explanation.isEmpty == false)
    }

    @Test func liveActivitiesFromTheirStartToTheirEnd() async throws {
        let ann = try app()
        _ = try await ann.registerActivityStart(token, attributesType: "Game")
        _ = try await ann.registerActivity(
            Data(repeating: 1, count: 32), activity: "a-1", session: "s-1")
        let client = backend()
        let started = try await client.startActivity(
            for: "ann", type: "Game", attributes: ["game": 7], state: ["move": 1], title: "Game 7",
            body: "It begins.")
        #expect(started == "queued")
        let target = ActivityTarget(activity: "a-1")
        #expect(try await client.updateActivity(target, state: ["move": 2]) == "queued")
        // Nothing has taken the first one yet: this one replaces it.
        #expect(try await client.updateActivity(target, state: ["move": 3]) == "queued")
        let old: TurnstoneKit.JSONValue = .double(
            Date(timeIntervalSinceNow: -3600).timeIntervalSince1970)
        let outdated = try await client.updateActivity(
            target, state: ["move": 1], others: ["timestamp": old])
        #expect(outdated == "outdated")
        #expect(
            try await client.endActivity(target, leaving: Date(timeIntervalSinceNow: 60))
                == "queued")
        do {
            try await client.updateActivity(ActivityTarget(), state: [:])
            Issue.record("an update was for nobody")
        } catch {
            guard case .refused = error else { throw error }
        }
    }

    @Test func aChannelFromItsBeginningToItsEnd() async throws {
        let client = backend()
        let channel = try await client.makeChannel(keepsNewest: true, in: .development)
        #expect(channel.messageStoragePolicy == "newest" && channel.environment == .development)
        #expect(try await client.channels(in: .development) == [channel.id])
        #expect(try await client.channel(channel.id) == channel)
        let other = try await client.makeChannel(keepsNewest: false, in: .development)
        try await client.updateActivity(ActivityTarget(channel: other.id), state: ["move": 1])
        do {
            try await client.removeChannel(other.id)
            Issue.record("a channel was removed before its update was sent")
        } catch {
            guard case .conflict = error else { throw error }
        }
        try await client.removeChannel(channel.id)
        #expect(try await client.channels(in: .development) == [other.id])
    }

    @Test func whatAnOperatorAsks() async throws {
        let key = try await PlayerClient.makeKey(
            at: address, for: "2", masterKey: "master", description: "iPhone 15 Pro")
        let client = try await PlayerClient(at: address, key: key)
        #expect(client.player == "2")
        #expect(try await client.keys().map(\.description) == ["iPhone 15 Pro"])
        do {
            _ = try await PlayerClient.makeKey(at: address, for: "2", masterKey: "wrong")
            Issue.record("a wrong master key was right")
        } catch {
            guard case .unauthorized = error else { throw error }
        }
        #expect(try await app().webPushKey().count == 87)
        #expect(try await backend().setBadge(3, of: "ann") == 3)
        #expect(try await backend().badge(of: "ann") == 3)
        let events = try await backend().events()
        #expect(events.problems == [])
        #expect(
            events.events.first { $0.event == "comment" }?.required.contains("authorName") == true)
        let health = try await backend().health()
        #expect(health.isReady == health.problems.isEmpty)
        let status = try await backend().status()
        #expect(status["ready"]?.bool == health.isReady && status["queues"]?.array != nil)
        #expect(try await backend().status(of: "ann")["user"] == "ann")
    }
}
