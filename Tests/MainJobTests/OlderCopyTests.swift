import Glibc
import JSON
import Store
import TestSupport
import Testing
import Turnstone

/// Somebody puts an older copy of one user's document in its place while everything else goes on: a phone that
/// is another user's by now would be the user's again, and a mute be forgotten.
@Suite struct OlderCopyTests {
    private let world: World
    private let document = "users/49/ann.json"

    init() throws {
        world = try World.withBackend()
        try world.registerPhone(1, of: "ann")
    }

    private func ask(_ program: String, _ method: String, _ path: String) throws -> Answer {
        try Answer(event: world.startBackend(program, world.message(method, path)).end().stdout)
    }

    private func expectNothingSent(_ comment: Comment) throws {
        try world.run("deliver")
        #expect(try world.acceptedIDs() == [], comment)
        let health = try ask("health", "GET", "/health")
        #expect(health.body.contains("\(document) (stale)"), "\(health.body)")
    }

    @Test("a message that waits does not reach the phone's next owner")
    func accepted() throws {
        let old = try #require(world.state.read(document))
        let message = try world.sent(["users": ["ann"], "body": "Hello Ann"])
        try world.registerPhone(1, of: "bob")
        let right = try #require(world.state.read(document))
        try world.state.write(old, to: document)
        try expectNothingSent("of \(message)")
        #expect(try world.report(message)["state"] != "done")
        // The operator puts the right one in its place.
        try world.state.write(right, to: document)
        try world.advance(seconds: 60)
        try world.run("deliver")
        #expect(try world.acceptedIDs() == [])
        #expect(try world.report(message)["counts"]?.object?["superseded"] == 1)
        #expect(try world.problems() == [])
    }

    @Test(
        "a message that comes then is not accepted for the older state, and all others are reached")
    func acceptedLater() throws {
        let old = try #require(world.state.read(document))
        try world.registerPhone(2, of: "ben")
        try world.registerPhone(1, of: "bob")
        try world.state.write(old, to: document)
        let alone = try world.notify(["users": ["ann"], "body": "Hello Ann"])
        #expect(alone.status == 500 || alone.json?.object?["devices"] == 0, "\(alone)")
        try expectNothingSent("after \(alone.status)")
        for users in [["ann", "bob", "ben"], ["bob", "ann"]] {
            let count = try world.acceptedIDs().count
            _ = try world.sent([
                "users": .array(users.map { .string($0) }), "body": "Hello everybody",
            ])
            try world.run("deliver")
            #expect(try world.acceptedIDs().count == count + users.count - 1)
        }
    }

    @Test("a mute is not forgotten, and no route answers with the older state")
    func muted() throws {
        let old = try #require(world.state.read(document))
        let mute: JSONObject = ["mutedUntil": "2026-11-30T07:00:00Z"]
        let event: JSONValue = [
            "method": "PUT", "path": "/api/preferences",
            "headers": ["Authorization": .string(bearer("ann"))], "body": .object(mute),
        ]
        #expect(
            try Answer(event: world.start("preferences", event).end().stdout).status == 200)
        let message = try world.sent(["users": ["ann"], "body": "Hello Ann"])
        try world.state.write(old, to: document)
        try expectNothingSent("of \(message)")
        #expect(try ask("users", "GET", "/api/users/ann").status == 500)
        let own: JSONValue = [
            "method": "GET", "path": "/api/devices",
            "headers": ["Authorization": .string(bearer("ann"))],
        ]
        #expect(try Answer(event: world.start("devices-list", own).end().stdout).status == 500)
    }
}

/// Somebody brings single copies of users' documents back, from before an erasure or, as health advises, with an
/// empty lock file. Who has a phone by now keeps it alone.
@Suite struct RestoredCopyTests {
    private let world: World

    init() throws {
        world = try World.withBackend()
    }

    private static let documents = [
        "ann": "users/49/ann.json", "ben": "users/67/ben.json", "cy": "users/3d/cy.json",
    ]

    private func copy(of user: String) throws -> [UInt8] {
        try #require(world.state.read(Self.documents[user]!))
    }

    /// Puts a copy in place, and if it counts as lost an empty lock file beside it.
    private func restore(_ copy: [UInt8], of user: String, withEmptyLock: Bool = true) throws {
        try world.state.write(copy, to: Self.documents[user]!)
        if withEmptyLock { try world.state.write("", to: Self.documents[user]! + ".lock") }
    }

    @Test("a copy from before an erasure is older than the document that began anew")
    func erased() throws {
        try world.registerPhone(1, of: "ann")
        for number in 3...9 { try world.registerPhone(number, of: "ann") }
        let old = try copy(of: "ann")
        try world.erase("ann")
        try world.registerPhone(1, of: "ben")
        try world.registerPhone(2, of: "ann")
        let right = try copy(of: "ann")
        try restore(old, of: "ann", withEmptyLock: false)
        let alone = try world.notify(["users": ["ann"], "body": "Hello"])
        #expect(alone.status == 500 || alone.json?.object?["devices"] == 0, "\(alone)")
        #expect(try world.reached(["ann", "ben"]) == [1])
        #expect(try world.problems() != [])
        try world.state.write(right, to: Self.documents["ann"]!)
        #expect(try world.reached(["ann", "ben"]) == [1, 2])
        #expect(try world.problems() == [])
    }

    @Test("an erased user's copy brings no phone back that is another's by now")
    func broughtBack() throws {
        try world.registerPhone(1, of: "ann")
        let old = try copy(of: "ann")
        try world.erase("ann")
        try world.registerPhone(1, of: "ben")
        try restore(old, of: "ann", withEmptyLock: false)
        #expect(try world.reached(["ann"]) == [])
        #expect(try world.reached(["ann", "ben"]) == [1])
        // A commit makes it the truth.
        try world.registerPhone(2, of: "ann")
        #expect(try world.reached(["ann", "ben"]) == [1, 2])
    }

    @Test("an older copy with an empty lock file brings no phone back that is another's by now")
    func lost() throws {
        try world.registerPhone(1, of: "ann")
        try world.registerPhone(2, of: "ann")
        let old = try copy(of: "ann")
        try world.registerPhone(1, of: "ben")
        try restore(old, of: "ann")
        #expect(try world.reached(["ann"]) == [2])
        try world.registerPhone(1, of: "ben")
        #expect(try world.reached(["ann", "ben"]) == [1, 2])
        // Nor does it come back when the other one leaves.
        try world.registerPhone(3, of: "ann")
        try world.erase("ben")
        #expect(try world.reached(["ann"]) == [2, 3])
    }

    @Test(
        "nor does it if the lock's number is the copy's, because a program was killed before it wrote its own"
    )
    func lostWithItsNumber() throws {
        try world.registerPhone(1, of: "ann")
        let old = try copy(of: "ann")
        let revision = try #require(JSON.parse(old).object?["revision"]?.integer)
        try world.registerPhone(1, of: "ben")
        try SharedLock.remember(revision, of: Self.documents["ann"]!, in: world.state)
        try restore(old, of: "ann")
        #expect(try world.reached(["ann", "ben"]) == [1])
        #expect(try world.reached(["ann"]) == [])
    }

    @Test(
        "a phone that a user has given up by an older copy does not come back with a newer one",
        arguments: [false, true])
    func givenUp(isErased: Bool) throws {
        try world.registerPhone(1, of: "ann")
        let older = try copy(of: "ann")
        try world.advance(seconds: 1)
        try world.registerPhone(1, of: "ann")
        let newer = try copy(of: "ann")
        try restore(older, of: "ann")
        try world.advance(seconds: 1)
        if isErased {
            try world.erase("ann")
        } else {
            #expect(try world.unregisterPhone(1, of: "ann") == 200)
        }
        try restore(newer, of: "ann")
        #expect(try world.reached(["ann"]) == [])
        try world.registerPhone(1, of: "ann")
        #expect(try world.reached(["ann"]) == [1])
    }

    @Test("a copy with an empty lock file stays without the phone when its user gets a name")
    func named() throws {
        try world.registerPhone(1, of: "ann")
        try world.registerPhone(2, of: "ann")
        let old = try copy(of: "ann")
        try world.registerPhone(1, of: "ben")
        try restore(old, of: "ann")
        var settings = Variables()
        settings.offer("TURNSTONE_STATE", world.state.path)
        let registry = try State(settings).registry
        let (ann, cy) = (try #require(UserID("ann")), try #require(UserID("cy")))
        #expect(try registry.name(ann, as: cy) { _ in true })
        #expect(try world.reached(["ann", "ben", "cy"]) == [1, 2])
        let named = try copy(of: "cy")
        try world.erase("cy")
        try world.registerPhone(3, of: "cy")
        try restore(named, of: "cy", withEmptyLock: false)
        #expect(try world.reached(["ann", "ben", "cy"]) == [1])
        #expect(try world.problems() != [])
    }

    @Test("of all copies that come back, each phone stays with the user who registered it last")
    func model() throws {
        let seed = UInt64.random(in: 0...99_999)
        var dice = Dice(seed: seed)
        var steps: [String] = []
        let users = Self.documents.keys.sorted()
        // What each user's document lists, and whom each phone's index names.
        var listed: [String: Set<Int>] = [:]
        var owner: [Int: String] = [:]
        var copies: [(user: String, listed: Set<Int>, text: [UInt8])] = []
        func right() -> [Int] {
            users.flatMap { user in listed[user, default: []].filter { owner[$0] == user } }
                .sorted()
        }
        for _ in 0..<60 {
            let user = users[Int(dice.next(below: 3))]
            switch dice.next(below: 11) {
            case 0...4:
                let number = 1 + Int(dice.next(below: 4))
                // Of two claims of one millisecond, nothing tells which was later.
                try world.advance(seconds: 1)
                if dice.next(below: 3) == 0 {
                    let claim = try world.start(
                        "push-register", world.registering(token(number), of: user))
                    usleep(UInt32(dice.next(below: 6000)))
                    claim.send(SIGKILL)
                    _ = try claim.end()
                    steps.append("\(user)'s claim of \(number) is killed")
                    let others = right().filter { $0 != number }
                    let actual = try world.reached(users)
                    #expect(
                        actual.filter { $0 != number } == others
                            && actual.count <= others.count + 1,
                        "\(actual), seed \(seed): \(steps)")
                }
                steps.append("\(user) claims \(number)")
                try world.registerPhone(number, of: user)
                if let former = owner[number] { listed[former]?.remove(number) }
                owner[number] = user
                listed[user, default: []].insert(number)
            case 5:
                if listed[user] != nil { try world.erase(user) }
                steps.append("\(user) is erased")
                // It looks for the user in all indices.
                for number in owner.keys where owner[number] == user { owner[number] = "" }
                listed[user] = nil
            case 6:
                guard let number = listed[user]?.sorted().first(where: { owner[$0] == user }) else {
                    continue
                }
                try world.unregisterPhone(number, of: user)
                steps.append("\(user) leaves \(number)")
                owner[number] = ""
                listed[user]?.remove(number)
            case 7, 8:
                guard let text = world.state.read(Self.documents[user]!) else { continue }
                // Also what is another's at this moment: a file that was put in place is as it was.
                let devices = try JSON.parse(text).object?["devices"]?.array ?? []
                let tokens = devices.compactMap { $0.object?["token"]?.string }
                copies.append((user, Set((1...4).filter { tokens.contains(token($0)) }), text))
            default:
                guard !copies.isEmpty else { continue }
                let copy = copies[Int(dice.next(below: UInt64(copies.count)))]
                try restore(copy.text, of: copy.user)
                steps.append("\(copy.user) is restored with \(copy.listed.sorted())")
                listed[copy.user] = copy.listed.filter { owner[$0] == copy.user }
            }
            let actual = try world.reached(users)
            #expect(actual == right(), "seed \(seed): \(steps)")
        }
    }
}
