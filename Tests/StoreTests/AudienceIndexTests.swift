import Documents
import Foundation
import JSON
import Store
import TestSupport
import Testing
import Turnstone
import Unix

/// The index names every user whose document says so, whatever happens. It may name more.
@Suite struct AudienceIndexTests {
    private let scratch: Scratch
    private let ann = UserID("ann")!

    init() throws {
        scratch = try Scratch()
        try scratch.state.audience.prepare { _ in }
    }

    private func setRole(_ role: String, of user: UserID, in state: State? = nil) throws {
        try (state ?? scratch.state).users[user].update { document in
            document.profile.tags["role"] = .string(role)
            if document.devices.isEmpty {
                document.devices = [Device(Scratch.token, registered: Scratch.time)]
            }
        }
    }

    /// The roles that each user may have, by the index.
    private func roles(in state: State? = nil) throws -> [String: Set<String>] {
        var roles: [String: Set<String>] = [:]
        var reader = try (state ?? scratch.state).audience.reader()
        while let shard = try reader.next() {
            for entry in shard.entries() {
                for line in entry.lines {
                    guard let user = shard.user(of: line) else { continue }
                    let role = user.profile.tags["role"]?.string
                    roles[user.user.text, default: []].insert(role ?? "-")
                }
            }
        }
        return roles
    }

    private let file = "audience/49.jsonl"

    /// Without their sums.
    private var lines: [String] {
        String(decoding: scratch.folder.read(file) ?? [], as: UTF8.self)
            .split(separator: "\n").map(String.init).filter { $0.hasPrefix(#"{"u""#) }
            .map { $0.replacing(/,"k":"[0-9a-f]{8}"}$/, with: "}") }
    }

    @Test("a change leaves one valid line")
    func change() throws {
        try setRole("admin", of: ann)
        try setRole("guest", of: ann)
        #expect(try roles() == ["ann": ["guest"]])
    }

    @Test("a line has everything that a filter needs")
    func content() throws {
        try scratch.state.users[ann].update { document in
            document.profile.tags = ["a\"é": .number(JSONNumber("1.50", value: 1.5)), "b": "x"]
            document.profile.language = LanguageTag("pt-BR")
            document.profile.country = CountryCode("BR")
            document.profile.addSessions(at: Scratch.time)
            var phone = Device(Scratch.token, environment: .production, registered: Scratch.time)
            phone.appVersion = "3.1"
            var other = Device(
                DeviceToken("fcm:token_of-1", on: .android)!, registered: Scratch.time)
            other.platform = .android
            var off = Device(Scratch.secondToken, registered: Scratch.time)
            off.isEnabled = false
            document.devices = [phone, other, off]
        }
        var reader = try scratch.state.audience.reader()
        var found: [IndexedUser] = []
        while let shard = try reader.next() {
            found += shard.entries().compactMap { shard.user(of: $0.lines[0]) }
        }
        let user = try #require(found.first)
        #expect(found.count == 1 && user.user == ann)
        #expect(user.profile.tags == ["a\"é": .number(JSONNumber("1.50", value: 1.5)), "b": "x"])
        #expect(user.profile.language?.text == "pt-BR" && user.profile.country?.text == "BR")
        #expect(user.profile.lastSession == Scratch.time && user.profile.sessionCount == 1)
        let devices = try #require(user.devices)
        #expect(devices.map(\.token.text) == ["a1b2c3d4", "fcm:token_of-1"])
        #expect(devices.map(\.platform) == [.ios, .android])
        #expect(devices[0].appVersion == "3.1" && devices[0].environment == .production)
    }

    @Test("what no filter asks for adds no line")
    func otherChange() throws {
        try setRole("admin", of: ann)
        let before = lines
        try scratch.state.users[ann].update { $0.notices = 7 }
        #expect(lines == before && !before.isEmpty)
    }

    @Test("a tentative line adds to those before it")
    func tentative() throws {
        try setRole("admin", of: ann)
        let last = try #require(lines.last)
        let tentative = last.replacing(#""u":"ann""#, with: #""u":"ann","also":true"#)
            .replacing("admin", with: "guest")
        try append(tentative + "\n")
        #expect(try roles() == ["ann": ["admin", "guest"]])
        try setRole("chief", of: ann)
        #expect(try roles() == ["ann": ["chief"]])
    }

    private func append(_ text: String) throws {
        let known = scratch.folder.read(file) ?? []
        try scratch.folder.write(known + Array(text.utf8), to: file)
    }

    @Test("half a line is ignored, and the next one is whole")
    func halfLine() throws {
        try setRole("admin", of: ann)
        try append(#"{"u":"ann","t":{"ro"#)
        #expect(try roles() == ["ann": ["admin"]])
        try setRole("guest", of: ann)
        #expect(try roles() == ["ann": ["guest"]])
    }

    @Test("half a line of one user does not hide the user when another one changes")
    func halfLineOfAnother() throws {
        let other = try #require(
            (0..<9999).lazy.map { UserID("u\($0)")! }.first { $0.documentName.shard == "49" })
        try setRole("admin", of: ann)
        for torn in [#"{"u":"ann","t":{"ro"#, #"{"u":"ann","also":true,"t":{"#, #"{"u":"an"#] {
            try append(torn)
            try setRole("guest\(torn.count)", of: other)
            #expect(try roles()["ann"] == ["admin"], "\(torn)")
            #expect(lines.allSatisfy { $0.hasSuffix("}") })
        }
    }

    @Test("many users stay apart, also two with equal hashes", arguments: [1, 40, 3000])
    func manyNames(count: Int) throws {
        // The hashes of the first two are equal.
        let names =
            ["u3318", "u171724"]
            + (0..<count).map { String(repeating: "n", count: $0 % 90 + 1) + "-\($0)" }
        var text = #"{"valid_bytes":0}"# + "\n"
        for role in ["old", "new"] {
            for name in names { text += "{\"u\":\"\(name)\",\"t\":{\"role\":\"\(role)\"}}\n" }
        }
        try scratch.folder.write(text, to: file)
        let found = try roles()
        #expect(found.count == names.count)
        #expect(found.values.allSatisfy { $0 == ["new"] })
    }

    @Test(
        "a file that is missing or damaged is made again",
        arguments: [
            nil, "", "\n", #"{"valid_bytes":0}"# + "\n{\"u\":7}\n",
            #"{"valid_bytes":0}"# + "\n" + #"{"u":"nobody","t":{"a":1"# + "\n",
            #"{"valid_bytes":9}"# + "\n", #"{"valid_bytes""#, #"{"valid_bytes":}"# + "\n",
        ])
    func damaged(content: String?) throws {
        try setRole("admin", of: ann)
        try FileManager.default.removeItem(atPath: "\(scratch.folder.path)/\(file)")
        if let content { try scratch.folder.write(content, to: file) }
        #expect(throws: Failure.self) { try roles() }
        try scratch.state.audience.prepare { _ in }
        #expect(try roles() == ["ann": ["admin"]])
    }

    /// Changes bytes of the file, in place.
    private func replace(_ text: String, with other: String) throws {
        let content = String(decoding: try #require(scratch.folder.read(file)), as: UTF8.self)
        let range = try #require(content.range(of: text, options: .backwards))
        try scratch.folder.write(content.replacingCharacters(in: range, with: other), to: file)
    }

    @Test(
        "a byte that was changed is noticed, in a line that was added and in one that was rewritten",
        arguments: [
            ("admin", "admim"), (#""role":"#, #""role" "#), (#""u":"ann""#, #""u":"and""#),
            ("\"}", "\"]"),
        ],
        [false, true])
    func changedByte(change: (from: String, to: String), isRewritten: Bool) throws {
        try setRole("admin", of: ann)
        if isRewritten {
            try FileManager.default.removeItem(
                atPath: "\(scratch.folder.path)/audience/index.json")
            try scratch.state.audience.prepare { _ in }
        }
        try replace(change.from, with: change.to)
        let failure = #expect(throws: Failure.self) { try roles() }
        #expect(failure?.disposition == .later(seconds: 1))
        try scratch.state.audience.prepare { _ in }
        #expect(try roles() == ["ann": ["admin"]])
    }

    @Test("a line whose name is no text any more goes away when the index is made again")
    func damagedName() throws {
        try setRole("admin", of: ann)
        var bytes = try #require(scratch.folder.read(file))
        let name = Array(#""ann""#.utf8)
        let place = try #require(bytes.indices.last { bytes[$0...].starts(with: name) })
        bytes[place + 1] = 0xEE
        try Data(bytes).write(to: URL(fileURLWithPath: "\(scratch.folder.path)/\(file)"))
        #expect(throws: Failure.self) { try roles() }
        try scratch.state.audience.prepare { _ in }
        #expect(try roles() == ["ann": ["admin"]])
        var reader = try scratch.state.audience.reader()
        while let shard = try reader.next() {
            for entry in shard.entries() { #expect(shard.name(of: entry.newest) != nil) }
        }
    }

    @Test("damage is not hidden by writing the file anew")
    func damageIsKept() throws {
        let other = UserID("u480")!
        try setRole("admin", of: other)
        try FileManager.default.removeItem(
            atPath: "\(scratch.folder.path)/audience/index.json")
        try scratch.state.audience.prepare { _ in }
        try replace("admin", with: "admim")
        let tag = String(repeating: "x", count: 250)
        for round in 0..<4000 {
            try scratch.state.users[ann].update { $0.profile.tags["t"] = .string("\(tag)\(round)") }
        }
        try scratch.state.audience.prepare { _ in }
        #expect(try roles()["u480"] == ["admin"])
    }

    /// Has the index made again.
    private func makeAgain() throws {
        try FileManager.default.removeItem(atPath: "\(scratch.folder.path)/audience/index.json")
        try scratch.state.audience.prepare { _ in }
    }

    /// Adds a line of a program that was killed before its commit, of a user in the same file.
    private func appendLeftOver() throws {
        try append(#"{"u":"u480","also":true,"t":{"role":"admin"},"d":["obI"]}"# + "\n")
    }

    /// Adds so many old lines that the next change writes the file anew.
    private func appendOldLines() throws {
        let tag = String(repeating: "x", count: 250)
        let lines = (0..<6000).map { #"{"u":"ann","t":{"t":"\#(tag)\#($0)"}}"# + "\n" }
        try append(lines.joined())
    }

    @Test("a line of a commit that a killed program has not made is uncertain")
    func uncertain() throws {
        try setRole("admin", of: ann)
        try appendLeftOver()
        var certain: [String: Bool] = [:]
        var reader = try scratch.state.audience.reader()
        while let shard = try reader.next() {
            for entry in shard.entries() {
                certain[shard.name(of: entry.newest)?.text ?? "-"] = entry.isCertain
            }
        }
        #expect(certain == ["ann": true, "u480": false])
    }

    @Test("it goes away when the index is made again, unless a program is making the user")
    func leftOverInMaking() throws {
        try setRole("admin", of: ann)
        try appendLeftOver()
        let lock = try SharedLock.open(of: "users/49/u480.json", in: scratch.folder)
        #expect(try lock.tryLock())
        try makeAgain()
        #expect(try roles() == ["ann": ["admin"], "u480": ["admin"]])
        lock.unlock()
        try makeAgain()
        #expect(try roles() == ["ann": ["admin"]])
        #expect(!lines.contains { $0.contains("u480") })
    }

    @Test("it goes away when its file is written anew, unless a program is making the user")
    func leftOverInCompaction() throws {
        try setRole("admin", of: ann)
        try appendLeftOver()
        try appendOldLines()
        let lock = try SharedLock.open(of: "users/49/u480.json", in: scratch.folder)
        #expect(try lock.tryLock())
        try setRole("guest", of: ann)
        #expect(lines.count < 10)
        #expect(try roles() == ["ann": ["guest"], "u480": ["admin"]])
        lock.unlock()
        try appendOldLines()
        try setRole("chief", of: ann)
        #expect(lines.count < 10)
        #expect(try roles() == ["ann": ["chief"]])
        #expect(!lines.contains { $0.contains("u480") })
    }

    @Test("a user who has a document keeps a tentative line when the file is written anew")
    func tentativeInCompaction() throws {
        try setRole("admin", of: UserID("u480")!)
        try appendLeftOver()
        try appendOldLines()
        try setRole("guest", of: ann)
        #expect(lines.count < 10)
        #expect(lines.contains { $0.hasPrefix(#"{"u":"u480","also":true"#) })
        #expect(try roles() == ["ann": ["guest"], "u480": ["admin"]])
    }

    /// Gives a tentative line, which is followed by the final one, another name.
    private func damageName() throws {
        try replace(#""u":"ann","also""#, with: #""u":"xnn","also""#)
        #expect(throws: Failure.self) { try roles() }
    }

    @Test("no line of a damaged file is kept when it is made again")
    func damagedLine() throws {
        try setRole("admin", of: ann)
        try damageName()
        // Otherwise it goes away as that of nobody.
        let shard = try #require(UserID("xnn")?.documentName.shard)
        let lock = try SharedLock.open(of: "users/\(shard)/xnn.json", in: scratch.folder)
        #expect(try lock.tryLock())
        try scratch.state.audience.prepare { _ in }
        #expect(try roles() == ["ann": ["admin"]])
        #expect(!lines.contains { $0.contains("xnn") })
        lock.unlock()
    }

    @Test("a damaged file is not written anew: it is removed, and made of the documents")
    func damagedInCompaction() throws {
        try setRole("admin", of: ann)
        try replace(#""u":"ann","also""#, with: #""u":"xnn","also""#)
        try appendOldLines()
        try setRole("guest", of: ann)
        #expect(scratch.folder.read(file) == nil)
        #expect(throws: Failure.self) { try roles() }
        try scratch.state.audience.prepare { _ in }
        #expect(try roles() == ["ann": ["guest"]])
        #expect(!lines.contains { $0.contains("xnn") })
    }

    @Test("an erasure removes a damaged file, which may name the user, and it is made again")
    func damagedInErasure() throws {
        try setRole("admin", of: ann)
        try setRole("admin", of: UserID("u480")!)
        try damageName()
        _ = try scratch.state.takeDevices(of: ann)
        _ = try scratch.state.eraseTraces(of: ann, [], at: Scratch.time) { Issue.record($0) }
        _ = try scratch.state.eraseDocument(of: ann)
        #expect(!lines.contains { $0.contains("nn\"") })
        try scratch.state.audience.prepare { _ in }
        #expect(try roles() == ["u480": ["admin"]])
        #expect(!lines.contains { $0.contains("nn\"") })
    }

    @Test("a user whose document was set aside before the index was made is named")
    func setAside() throws {
        try setRole("admin", of: ann)
        try scratch.folder.write("{", to: "users/49/ann.json")
        #expect(throws: Failure.self) { try scratch.state.users[ann].read() }
        for _ in 0..<2 {
            try FileManager.default.removeItem(atPath: "\(scratch.folder.path)/audience")
            try scratch.state.audience.prepare { _ in }
            #expect(try scratch.state.audience.reader().unread == [ann])
        }
    }

    @Test("a folder in the place of a file is met by a reader, and the file is made again")
    func folderInPlace() throws {
        try setRole("admin", of: ann)
        let path = "\(scratch.folder.path)/\(file)"
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(
            atPath: "\(path)/x", withIntermediateDirectories: true)
        let failure = #expect(throws: Failure.self) { try roles() }
        #expect(failure?.disposition == .later(seconds: 1))
        try scratch.state.audience.prepare { _ in }
        #expect(try roles() == ["ann": ["admin"]])
    }

    @Test(
        "what is in the place of a file refuses no change, and makes way", arguments: [true, false])
    func inPlace(ofFile: Bool) throws {
        try setRole("admin", of: ann)
        let path = "\(scratch.folder.path)/\(ofFile ? file : "audience")"
        try FileManager.default.removeItem(atPath: path)
        if ofFile {
            try FileManager.default.createDirectory(
                atPath: "\(path)/x", withIntermediateDirectories: true)
        } else {
            #expect(FileManager.default.createFile(atPath: path, contents: nil))
        }
        for role in ["guest", "chief"] { try setRole(role, of: ann) }
        try scratch.state.audience.prepare { _ in }
        #expect(try roles() == ["ann": ["chief"]])
    }

    @Test(
        "what is in the place of the statement or of its lock makes way",
        arguments: ["index.json", "index.json.lock"], [true, false])
    func inPlace(ofStatement name: String, isFolder: Bool) throws {
        try setRole("admin", of: ann)
        let statement = "\(scratch.folder.path)/audience/index.json"
        try FileManager.default.removeItem(atPath: statement)
        let path = "\(scratch.folder.path)/audience/\(name)"
        try? FileManager.default.removeItem(atPath: path)
        if isFolder {
            try FileManager.default.createDirectory(
                atPath: "\(path)/x/y", withIntermediateDirectories: true)
        } else {
            #expect(mkfifo(path, 0o600) == 0)
        }
        // A change goes on, also if its own file of the index cannot be used.
        let file = "\(scratch.folder.path)/\(file)"
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.createDirectory(
            atPath: "\(file)/x", withIntermediateDirectories: true)
        try setRole("guest", of: ann)
        do throws(Failure) { try scratch.state.audience.prepare { _ in } } catch {
            #expect(error.disposition == .later(seconds: 1), "\(error.sentence)")
            try scratch.state.audience.prepare { _ in }
        }
        #expect(try roles() == ["ann": ["guest"]])
    }

    @Test("a user whose document could not be read is named, and found when it can be")
    func unread() throws {
        try setRole("admin", of: ann)
        let path = "\(scratch.folder.path)/users/49/ann.json"
        let text = try #require(FileManager.default.contents(atPath: path))
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try FileManager.default.removeItem(atPath: "\(scratch.folder.path)/audience")
        try scratch.state.audience.prepare { _ in }
        #expect(try scratch.state.audience.reader().unread == [ann])
        try FileManager.default.removeItem(atPath: path)
        #expect(FileManager.default.createFile(atPath: path, contents: text))
        #expect(try scratch.state.audience.reader().unread == [ann])
    }

    @Test("users whose locks a program does not let go are named, and one of them is waited for")
    func locked() throws {
        // All share ann's lock file.
        let names = (0..<29_999).flatMap { [UserID("u\($0)")!, UserID("u\($0)@example.org")!] }
        let lockFile = scratch.state.users[ann].lock.file
        let users = [ann] + names.filter { scratch.state.users[$0].lock.file == lockFile }
        #expect(users.contains { $0.text.contains("@") } && users.count > 8)
        for user in users { try setRole("admin", of: user) }
        let bob = UserID("bob")!
        try setRole("admin", of: bob)
        try FileManager.default.removeItem(atPath: "\(scratch.folder.path)/audience")
        let lock = try SharedLock.open(of: "users/49/ann.json", in: scratch.folder)
        #expect(try lock.tryLock())
        let began = Instant.now
        try scratch.state.audience.prepare { _ in }
        // Once for the changes that began before, and once for the first user: two seconds each.
        #expect(Instant.now - began < .seconds(2 * Int64(users.count)))
        #expect(try Set(scratch.state.audience.reader().unread) == Set(users))
        #expect(try roles() == ["bob": ["admin"]])
        lock.unlock()
        try setRole("guest", of: ann)
        #expect(try roles() == ["ann": ["guest"], "bob": ["admin"]])
    }

    @Test("when it is made again, nobody is in it who has no document")
    func gone() throws {
        try setRole("admin", of: ann)
        let before = try #require(scratch.folder.read(file))
        _ = try scratch.state.takeDevices(of: ann)
        _ = try scratch.state.eraseTraces(of: ann, [], at: Scratch.time) { Issue.record($0) }
        _ = try scratch.state.eraseDocument(of: ann)
        // What a loss of power may bring back.
        try scratch.folder.write(before, to: file)
        try FileManager.default.removeItem(
            atPath: "\(scratch.folder.path)/audience/index.json")
        try scratch.state.audience.prepare { _ in }
        #expect(try roles().isEmpty)
        #expect(!lines.contains { $0.contains("ann") })
    }

    @Test("a file of more than 16 MiB takes changes")
    func large() throws {
        let tags = (0..<60).map { "\"t\($0)\":\"\(String(repeating: "x", count: 250))\"" }
        var text = #"{"valid_bytes":7000000}"# + "\n"
        let line = "\"t\":{\(tags.joined(separator: ","))}}\n"
        for number in 0..<1100 { text += "{\"u\":\"n\(number)\",\(line)" }
        #expect(text.utf8.count > 1 << 24)
        try scratch.folder.write(text, to: file)
        try setRole("admin", of: ann)
        #expect(try roles()["ann"] == ["admin"])
        _ = try scratch.state.takeDevices(of: ann)
        _ = try scratch.state.eraseTraces(of: ann, [], at: Scratch.time) { Issue.record($0) }
        #expect(try roles()["ann"] == nil)
    }

    @Test("a file full of old lines is written anew")
    func compaction() throws {
        let tag = String(repeating: "x", count: 250)
        for round in 0..<4000 {
            try scratch.state.users[ann].update { $0.profile.tags["t"] = .string("\(tag)\(round)") }
        }
        #expect((scratch.folder.read(file)?.count ?? 0) < 2 << 20)
        try setRole("admin", of: ann)
        #expect(try roles() == ["ann": ["admin"]])
    }

    @Test("an index that was removed, or that is a copy, is made of the documents")
    func remade() throws {
        try setRole("admin", of: ann)
        try FileManager.default.removeItem(atPath: "\(scratch.folder.path)/audience")
        try setRole("guest", of: ann)
        #expect(throws: Failure.self) { try roles() }
        try scratch.state.audience.prepare { _ in }
        #expect(try roles() == ["ann": ["guest"]])

        let statement = "audience/index.json"
        let text = try #require(scratch.folder.read(statement))
        // A copy has another inode.
        try scratch.folder.write(text, to: "audience/copy")
        try FileManager.default.removeItem(atPath: "\(scratch.folder.path)/\(statement)")
        try FileManager.default.moveItem(
            atPath: "\(scratch.folder.path)/audience/copy",
            toPath: "\(scratch.folder.path)/\(statement)")
        try scratch.folder.write("", to: file)
        var parts = 0
        try scratch.state.audience.prepare { parts = $0 }
        #expect(parts == 256)
        #expect(try roles() == ["ann": ["guest"]])
        try scratch.state.audience.prepare { _ in Issue.record("it was valid") }
    }

    @Test("a request stops after a while, and the next one goes on from there")
    func stopped() throws {
        try setRole("admin", of: ann)
        try FileManager.default.removeItem(atPath: "\(scratch.folder.path)/audience")
        let other = UserID("bob")!
        var parts: [Int] = []
        for number in 1...255 {
            let failure = #expect(throws: Failure.self) {
                try scratch.state.audience.prepare(within: .seconds(0)) { parts.append($0) }
            }
            #expect(failure?.disposition == .later(seconds: 1))
            // The file of ann is the 74th, and that of bob the 130th.
            if number == 100 { for user in [ann, other] { try setRole("guest", of: user) } }
        }
        try scratch.state.audience.prepare(within: .seconds(0)) { parts.append($0) }
        #expect(parts == Array(1...256))
        #expect(try roles() == ["ann": ["guest"], "bob": ["guest"]])
        try scratch.state.audience.prepare { _ in Issue.record("it was complete") }
    }

    @Test("lines of an earlier version are replaced")
    func earlierVersion() throws {
        try setRole("admin", of: ann)
        try scratch.state.users[ann].update { $0.profile.language = LanguageTag("de") }
        let path = "\(scratch.folder.path)/audience/index.json"
        // In place: the statement is about its inode.
        let statement = try #require(FileHandle(forUpdatingAtPath: path))
        let text = String(decoding: try statement.readToEnd() ?? Data(), as: UTF8.self)
        try statement.seek(toOffset: 0)
        try statement.write(
            contentsOf: Data(text.replacing(#""version":2"#, with: #""version":1"#).utf8))
        try statement.close()
        let line = try #require(lines.last)
        try append(line.replacing(#""p":[0,null,null,"de"]"#, with: #""l":"de""#) + "\n")
        try scratch.state.audience.prepare { _ in }
        #expect(lines == [line])
    }

    @Test("a line that a program of an earlier version adds is read")
    func earlierLine() throws {
        try setRole("admin", of: ann)
        let line = try #require(lines.last)
        let properties = #","l":"de","c":"DE","f":1764000000000,"s":1764086400000,"n":7}"#
        try append(line.dropLast() + properties + "\n")
        let profile = try indexed()?.profile
        #expect(profile?.tags["role"] == "admin")
        #expect(profile?.language?.text == "de" && profile?.country?.text == "DE")
        #expect(profile?.firstSession?.milliseconds == 1_764_000_000_000)
        #expect(profile?.lastSession?.milliseconds == 1_764_086_400_000)
        #expect(profile?.sessionCount == 7)
    }

    @Test("it is made from the start if a change has given it up between two parts")
    func givenUpMeanwhile() throws {
        try setRole("admin", of: ann)
        let path = "\(scratch.folder.path)/audience/index.json"
        try FileManager.default.removeItem(atPath: path)
        var parts: [Int] = []
        try scratch.state.audience.prepare(within: .minutes(1)) { part in
            parts.append(part)
            if parts.count == 100 { #expect(Files.remove(path)) }
        }
        #expect(parts == Array(1...100) + Array(1...256))
        #expect(try roles() == ["ann": ["admin"]])
    }

    @Test("it is made from the start if a change has given it up while a part was made")
    func givenUpInPart() throws {
        try setRole("admin", of: ann)
        let folder = scratch.folder.path
        let path = "\(folder)/audience/index.json"
        try FileManager.default.removeItem(atPath: path)
        // Ann's part is the one after 0x49 others, and waits for a change of hers.
        let (isHeld, isDue) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let change = Thread {
            _ = try? Scratch.open(folder).users[UserID("ann")!].holding { (_, _) in
                isHeld.signal()
                isDue.wait()
                Thread.sleep(forTimeInterval: 0.3)
                #expect(Files.remove(path))
            }
        }
        change.start()
        isHeld.wait()
        var parts: [Int] = []
        try scratch.state.audience.prepare(within: .minutes(1)) { part in
            parts.append(part)
            if parts == Array(1...0x49) { isDue.signal() }
        }
        #expect(parts == Array(1...0x49) + Array(1...256))
        #expect(try roles() == ["ann": ["admin"]])
    }

    /// The only user in the index.
    private func indexed() throws -> IndexedUser? {
        var reader = try scratch.state.audience.reader()
        var found: IndexedUser?
        while let shard = try reader.next() {
            found = shard.entries().compactMap { shard.user(of: $0.lines[0]) }.first ?? found
        }
        return found
    }

    @Test(
        "sessions are read as they were written",
        arguments: [nil, 0, 1_764_000_000_000, -5, Int64.min],
        [nil, 0, 1_764_086_400_000, Int64.max])
    func sessions(first: Int64?, last: Int64?) throws {
        try scratch.state.users[ann].update { document in
            document.profile.tags["role"] = "x"
            document.profile.firstSession = first.map { Timestamp(milliseconds: $0) }
            document.profile.lastSession = last.map { Timestamp(milliseconds: $0) }
        }
        let found = try indexed()
        #expect(found?.profile.firstSession?.milliseconds == first)
        #expect(found?.profile.lastSession?.milliseconds == last)
    }

    @Test("an erased user is in no line")
    func erased() throws {
        try setRole("admin", of: ann)
        let anna = UserID("anna")!
        try setRole("admin", of: anna)
        _ = try scratch.state.takeDevices(of: ann)
        let erased = try scratch.state.eraseTraces(of: ann, [], at: Scratch.time) {
            Issue.record($0)
        }
        #expect(erased.files == 1)
        #expect(try roles() == ["anna": ["admin"]])
        #expect(!lines.contains { $0.contains(#""ann""#) })
    }

    @Test("whoever matches throughout is found while others change, and while it is made again")
    func race() throws {
        let folder = scratch.folder.path
        // All in one folder of users/, where the lines of all meet.
        let names = (0..<9999).map { UserID("u\($0)")! }
        let users = Array(names.filter { $0.documentName.shard == "49" }.prefix(12))
        let steady = try #require(users.first)
        try setRole("admin", of: steady)
        atOnce(12) { number in
            guard let state = try? Scratch.open(folder) else { return }
            if number < 3 {
                for round in 0..<60 {
                    if number == 0, round % 15 == 0 {
                        try? FileManager.default.removeItem(atPath: "\(folder)/audience/index.json")
                    }
                    _ = try? patiently { try state.audience.prepare { _ in } }
                    let found = (try? roles(in: state))?[steady.text]
                    #expect(found?.contains("admin") == true)
                }
            } else {
                for round in 0..<40 {
                    let user = users[number]
                    _ = try? patiently {
                        try state.users[user].update { document in
                            document.profile.tags["role"] = .string("r\(round)")
                            document.devices = [Device(Scratch.token, registered: Scratch.time)]
                        }
                    }
                    // Steady as to the role, but not as to the rest.
                    _ = try? patiently {
                        try state.users[steady].update { $0.profile.sessionCount += 1 }
                    }
                }
            }
        }
        let found = try roles()
        for user in users {
            guard let role = try scratch.state.users[user].read()?.profile.tags["role"]?.string
            else { continue }
            #expect(found[user.text]?.contains(role) == true, "\(user)")
        }
    }
}
