import Documents
import Store
import TestSupport
import Testing
import Turnstone

/// One owner for each alias, whatever happens in between.
@Suite struct AliasesTests {
    private let scratch: Scratch
    private let alias = Alias("crm", "17")!
    private let ann = UserID("ann")!
    private let bob = UserID("bob")!

    init() throws { scratch = try Scratch() }

    private func claim(_ alias: Alias, for user: UserID, in state: State? = nil) throws {
        try (state ?? scratch.state).aliases.update(user, claiming: [alias]) { document in
            document.profile.set(alias)
        }
    }

    private var indices: [String] { scratch.files.filter { $0.hasPrefix("aliases/") } }

    @Test("an alias has one owner, and another user's claim changes nothing")
    func oneOwner() throws {
        try claim(alias, for: ann)
        #expect(cause { try claim(alias, for: bob) } == "refused")
        #expect(try scratch.state.aliases.owner(of: alias) == ann)
        #expect(try scratch.state.users[bob].read() == nil)
    }

    @Test("an alias that was given up is free, and no file remembers it")
    func givenUp() throws {
        try claim(alias, for: ann)
        try scratch.state.aliases.update(ann, claiming: []) { $0.profile.removeAlias("crm") }
        #expect(try scratch.state.aliases.owner(of: alias) == nil)
        #expect(indices.isEmpty)
        try claim(alias, for: bob)
        #expect(try scratch.state.aliases.owner(of: alias) == bob)
    }

    @Test("another id of a label replaces the first one")
    func replaced() throws {
        let other = try #require(Alias("crm", "18"))
        try claim(alias, for: ann)
        try claim(other, for: ann)
        #expect(try scratch.state.aliases.owner(of: alias) == nil)
        #expect(try scratch.state.aliases.owner(of: other) == ann)
        #expect(indices.count == 1)
    }

    @Test("a refused change leaves no trace")
    func refused() throws {
        #expect(
            cause {
                try scratch.state.aliases.update(ann, claiming: [alias]) {
                    (document) throws(Failure) in
                    document.profile.set(alias)
                    throw .unacceptable("no")
                }
            } == "refused")
        #expect(indices.isEmpty)
        try claim(alias, for: bob)
    }

    @Test("of many who claim an alias at once, one has it")
    func race() throws {
        let folder = scratch.folder.path
        let alias = alias
        atOnce(8) { number in
            guard let state = try? Scratch.open(folder) else { return }
            let user = UserID("user-\(number)")!
            _ = try? patiently {
                try state.aliases.update(user, claiming: [alias]) { $0.profile.set(alias) }
            }
        }
        var owners = 0
        for number in 0..<8 {
            let aliases = try scratch.state.users[UserID("user-\(number)")!].read()?.profile.aliases
            if aliases?.contains(alias) == true { owners += 1 }
        }
        #expect(owners == 1)
        #expect(try scratch.state.aliases.owner(of: alias) != nil)
    }

    @Test("users who swap two aliases wait for each other, and neither is lost")
    func crosswise() throws {
        let folder = scratch.folder.path
        let both = [alias, Alias("mail", "a@example.org")!]
        atOnce(4) { number in
            guard let state = try? Scratch.open(folder) else { return }
            let user = UserID("user-\(number)")!
            let claimed = number % 2 == 0 ? both : both.reversed()
            for _ in 0..<25 {
                _ = try? patiently {
                    try state.aliases.update(user, claiming: claimed) { document in
                        for alias in claimed { document.profile.set(alias) }
                    }
                }
                _ = try? patiently {
                    try state.aliases.update(user, claiming: []) { document in
                        for alias in claimed { document.profile.removeAlias(alias.label) }
                    }
                }
            }
        }
        #expect(indices.isEmpty)
    }

    @Test("erasing a user erases the alias")
    func erased() throws {
        try claim(alias, for: ann)
        _ = try scratch.state.takeDevices(of: ann)
        _ = try scratch.state.eraseDocument(of: ann)
        let erased = try scratch.state.eraseAliases(of: ann) { Issue.record($0) }
        #expect(erased.files == 1)
        #expect(indices.isEmpty)
    }

    @Test("erasing a user erases an id that a killed program was about to give the user")
    func erasedWhileNamed() throws {
        let token = DeviceToken("ab")!
        try claim(alias, for: ann)
        _ = try scratch.state.registry.claim(Registration(token), for: ann, at: Scratch.time)
        let jane = UserID("jane@example.org")!
        try scratch.state.tokens[token].update { $0.users.append(jane) }
        let index = try #require(indices.first)
        var members = try #require(try scratch.members(index))
        members["users"] = ["ann", .string(jane.text)]
        try scratch.write(.object(members), to: index)
        let devices = try scratch.state.takeDevices(of: ann)
        _ = try scratch.state.eraseTraces(of: ann, devices, at: Scratch.time) { Issue.record($0) }
        _ = try scratch.state.eraseDocument(of: ann)
        _ = try scratch.state.eraseAliases(of: ann) { Issue.record($0) }
        for file in scratch.files {
            let text = String(decoding: scratch.folder.read(file) ?? [], as: UTF8.self)
            #expect(!text.contains("jane") && !text.contains(#""ann""#), "\(file)")
        }
    }

    @Test("an id that another user of the phone may be getting now stays in the index")
    func namedBesides() throws {
        let token = DeviceToken("ab")!
        let others = [UserID("bob")!, UserID("robert@example.org")!]
        for user in [ann, others[0]] {
            try scratch.state.users[user].update {
                $0.devices = [Device(token, registered: Scratch.time)]
            }
        }
        try scratch.state.tokens[token].update { $0.users = [ann] + others }
        let devices = try scratch.state.takeDevices(of: ann)
        _ = try scratch.state.eraseTraces(of: ann, devices, at: Scratch.time) { Issue.record($0) }
        #expect(try scratch.state.tokens[token].read()?.users == others)
    }

    @Test("unknown members of a profile are preserved")
    func unknownMembers() throws {
        try scratch.write(
            [
                "version": 1, "revision": 1, "devices": [],
                "profile": ["tags": ["a": 1], "shoe_size": 44, "revision": 1],
            ], to: "users/49/ann.json")
        try claim(alias, for: ann)
        let profile = try scratch.members("users/49/ann.json")?["profile"]?.object
        #expect(profile?["shoe_size"] == 44)
        #expect(profile?["tags"] == ["a": 1])
        #expect(profile?["aliases"] == ["crm": "17"])
    }
}
