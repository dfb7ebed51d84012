import Crypto
import JSON
import Store
import TestSupport
import Testing
import Turnstone

/// A whole folder comes back whose files were copied at different moments, or an index of phones begins anew.
@Suite struct TornBackupTests {
    private let world: World
    private static let users = ["ann", "ben", "cy"]

    init() throws {
        world = try World.withBackend()
    }

    /// Documents by name, without locks.
    private typealias Files = [String: [UInt8]]

    /// The documents of users and of phones.
    private func documents() -> Files {
        world.state.files().filter { file in
            file.key.hasSuffix(".json")
                && ["users/", "tokens/"].contains { file.key.hasPrefix($0) }
        }
    }

    private func isIndex(_ name: String) -> Bool { name.hasPrefix("tokens/") }

    /// Puts the folder's documents in place. Locks that were copied are others' and tell nothing.
    private func restore(_ files: Files) throws {
        for name in documents().keys where files[name] == nil { try world.state.remove(name) }
        for (name, bytes) in files { try world.state.write(bytes, to: name) }
        for name in world.state.files().keys
        where ["locks/users/", "locks/tokens/"].contains(where: { name.hasPrefix($0) }) {
            try world.state.remove(name)
        }
    }

    /// Lets `check-turns` run until it has looked at all users.
    private func reconcile(every seconds: Int64 = 30) throws {
        for _ in 0..<67 {
            try world.advance(seconds: seconds)
            try world.run("check-turns")
        }
    }

    /// What a copy shows of the time before or after a phone went from ann to ben.
    struct Torn: CustomTestStringConvertible, Sendable {
        let (ann, ben, index): (Bool, Bool, Bool)
        /// Whose phone it is afterwards. Nobody's if no document has it any more.
        var owner: String? { ben ? "ben" : !ann && !index ? "ann" : nil }
        var testDescription: String {
            "\(ann ? "new" : "old") ann, \(ben ? "new" : "old") ben, \(index ? "new" : "old") index"
        }

        static let all = [false, true].flatMap { ann in
            [false, true].flatMap { ben in
                [false, true].map { Torn(ann: ann, ben: ben, index: $0) }
            }
        }
    }

    @Test(
        "a phone that went to another user while a backup was made reaches nobody else",
        arguments: Torn.all)
    func torn(_ torn: Torn) throws {
        try world.registerPhone(1, of: "ann")
        try world.registerPhone(2, of: "ben")
        let old = documents()
        try world.advance(seconds: 1)
        try world.registerPhone(1, of: "ben")
        let new = documents()
        var copy = new
        for name in new.keys {
            let isNew =
                isIndex(name) ? torn.index : name.hasSuffix("/ann.json") ? torn.ann : torn.ben
            copy[name] = isNew ? new[name] : old[name]
        }
        try restore(copy)
        try reconcile()
        let expected = torn.owner == nil ? [2] : [1, 2]
        #expect(try world.reached(["ann", "ben"]) == expected)
        #expect(try world.reached(["ann"]) == (torn.owner == "ann" ? [1] : []))
        // The next owner has it alone.
        try world.registerPhone(1, of: "cy")
        #expect(try world.reached(Self.users) == [1, 2])
        #expect(try world.problems() == [])
    }

    /// The name of a phone's index.
    private func index(of number: Int) throws -> String {
        let digest = hex(SHA256.hash(Array(token(number).utf8)))
        return try #require(documents().keys.first { isIndex($0) && $0.contains(digest) })
    }

    /// The index of a phone is lost, and the operator goes on without it.
    private func loseIndex(of number: Int) throws {
        let name = try index(of: number)
        try world.state.remove(name)
        try world.state.write("", to: "\(name).lock")
    }

    @Test("a phone whose index began anew is its last owner's", arguments: [false, true])
    func lostIndex(isReconciled: Bool) throws {
        try world.registerPhone(1, of: "ann")
        try loseIndex(of: 1)
        if isReconciled { try reconcile(every: 60) }
        try world.advance(seconds: 1)
        try world.registerPhone(1, of: "ben")
        if !isReconciled { try reconcile() }
        #expect(try world.reached(["ann", "ben"]) == [1])
        #expect(try world.reached(["ann"]) == [])
    }

    @Test(
        "of two users whose copies have a phone, who registered it later has it, whatever the index knew",
        arguments: [["ann", "ben"], ["ben", "ann"]], [false, true])
    func unknownToTheIndex(users: [String], isLost: Bool) throws {
        try world.registerPhone(1, of: "cy")
        var copy = documents()
        if isLost { copy = copy.filter { !isIndex($0.key) } }
        for user in users {
            try world.advance(seconds: 1)
            try world.registerPhone(1, of: user)
            for (name, bytes) in documents() where name.hasSuffix("/\(user).json") {
                copy[name] = bytes
            }
        }
        for name in copy.keys where name.hasSuffix("/cy.json") { copy[name] = nil }
        try restore(copy)
        try reconcile()
        #expect(try world.reached([users[0]]) == [])
        #expect(try world.reached([users[1]]) == [1])
    }

    @Test("a phone that reconciling took from a user does not come back with an older document")
    func afterReconciling() throws {
        try world.registerPhone(1, of: "ann")
        let old = documents()
        try world.advance(seconds: 1)
        try world.registerPhone(1, of: "ben")
        var copy = documents()
        for (name, bytes) in old where !name.hasSuffix("/ben.json") { copy[name] = bytes }
        try restore(copy)
        try reconcile()
        let name = try #require(old.keys.first { $0.hasSuffix("/ann.json") })
        try world.state.write(old[name]!, to: name)
        try world.state.write("", to: "\(name).lock")
        #expect(try world.reached(["ann"]) == [])
        #expect(try world.reached(["ben"]) == [1])
    }

    @Test("an index that cannot be used keeps none of a user's other phones from being reconciled")
    func besideDamagedIndex() throws {
        for number in 1...3 { try world.registerPhone(number, of: "ann") }
        try world.state.write("damaged", to: index(of: 1))
        let lost = try (2...3).map { try index(of: $0) }
        for number in 2...3 { try loseIndex(of: number) }
        try reconcile()
        for name in lost { #expect(world.state.read(name) != nil) }
    }

    @Test("a copy from before an erasure brings no phone back beside the indices from after it")
    func erasedMeanwhile() throws {
        try world.registerPhone(1, of: "ann")
        let old = documents()
        try world.erase("ann")
        var copy = documents()
        for (name, bytes) in old where !isIndex(name) { copy[name] = bytes }
        try restore(copy)
        #expect(try world.reached(["ann"]) == [])
        try reconcile()
        #expect(try world.reached(["ann"]) == [])
    }

    @Test(
        "a copy of a transfer that has ended takes the phone from nobody", arguments: [false, true])
    func copiedTransfer(isErased: Bool) throws {
        try world.registerPhone(1, of: "ann")
        let began = world.now
        try world.advance(seconds: 1)
        try world.registerPhone(1, of: "cy")
        if isErased { try world.erase("cy") }
        let transfer: JSONValue = [
            "version": 1, "revision": 1, "to": "ben", "at": .integer(began),
            "device": ["token": .string(token(1)), "registered_at": .integer(began)],
        ]
        let name = "transfers/\(hex(SHA256.hash(Array(token(1).utf8)))).json"
        try world.state.write(JSON.text(transfer), to: name)
        try world.run("check-turns")
        #expect(world.state.read(name) == nil)
        #expect(try world.reached(["ben"]) == [])
        #expect(try world.reached(["cy"]) == (isErased ? [] : [1]))
    }

    @Test("players who share a phone keep it when its index begins anew")
    func lostIndexOfPlayers() throws {
        try world.register(token(1), of: 1)
        try loseIndex(of: 1)
        try world.advance(seconds: 1)
        try world.register(token(1), of: 2)
        try reconcile()
        #expect(try world.reached(["1"]) == [1])
        #expect(try world.reached(["2"]) == [1])
        // Also when everything is a copy by then, and the index names nobody.
        var copy = documents()
        for name in copy.keys where isIndex(name) {
            copy[name] = Array(#"{"version":1,"revision":1,"users":[]}"#.utf8)
        }
        try restore(copy)
        try reconcile()
        #expect(try world.reached(["1"]) == [1])
        #expect(try world.reached(["2"]) == [1])
        try world.registerPhone(1, of: "cy")
        for player in ["1", "2"] { #expect(try world.reached([player]) == []) }
        #expect(try world.reached(["cy"]) == [1])
    }

    @Test("a removal that was killed before the index forgot the user ends when it is repeated")
    func killedRemoval() throws {
        try world.registerPhone(1, of: "ann")
        let old = try #require(world.state.read("users/49/ann.json"))
        try world.change("ann") { $0.devices = [] }
        try world.advance(seconds: 1)
        #expect(try world.unregisterPhone(1, of: "ann") == 404)
        try world.state.write(old, to: "users/49/ann.json")
        try world.state.write("", to: "users/49/ann.json.lock")
        #expect(try world.reached(["ann"]) == [])
    }

    @Test("nothing is written where documents and indices agree")
    func healthy() throws {
        for number in 1...3 { try world.registerPhone(number, of: Self.users[number - 1]) }
        for player in Int64(1)...2 { try world.register(token(4), of: player) }
        let before = documents()
        try reconcile()
        #expect(documents() == before)
        // A copy's documents are written once, to have numbers.
        try restore(before)
        try reconcile()
        let numbered = documents()
        #expect(numbered.keys == before.keys)
        for (name, bytes) in before {
            #expect((numbered[name] == bytes) == isIndex(name), "\(name)")
        }
        try reconcile()
        #expect(documents() == numbered)
    }

    @Test("of random torn copies, each phone is one user's, and that of who had it all the time")
    func model() throws {
        let seed = UInt64.random(in: 0...99_999)
        var dice = Dice(seed: seed)
        var owner: [Int: String] = [:]
        func claim() throws -> String {
            let number = 1 + Int(dice.next(below: 4))
            let user = Self.users[Int(dice.next(below: 3))]
            try world.advance(seconds: 1)
            try world.registerPhone(number, of: user)
            owner[number] = user
            return "\(user) claims \(number)"
        }
        for round in 0..<4 {
            var steps: [String] = []
            for _ in 0..<6 { steps.append(try claim()) }
            var moments = [documents()]
            var owners = [owner]
            steps.append("the copy begins")
            for _ in 0...dice.next(below: 5) {
                steps.append(try claim())
                moments.append(documents())
                owners.append(owner)
            }
            var copy: Files = [:]
            for name in moments.last!.keys.sorted() {
                let moment = Int(dice.next(below: UInt64(moments.count)))
                copy[name] = moments[moment][name]
                steps.append("\(name) of moment \(moment)")
            }
            try restore(copy)
            try reconcile()
            let comment: Comment = "seed \(seed), round \(round): \(steps)"
            var actual: [Int] = []
            for user in Self.users {
                let own = try world.reached([user])
                let constant = owners[0].filter { phone in
                    phone.value == user && owners.allSatisfy { $0[phone.key] == user }
                }
                #expect(Set(own).isSuperset(of: constant.keys), comment)
                actual += own
            }
            #expect(Set(actual).count == actual.count, comment)
            // Once the apps have started again, everything is as it was.
            for (number, user) in owner { try world.registerPhone(number, of: user) }
            #expect(try world.reached(Self.users) == owner.keys.sorted(), comment)
            for user in Self.users {
                let own = owner.filter { $0.value == user }.map(\.key).sorted()
                #expect(try world.reached([user]) == own, comment)
            }
        }
    }
}
