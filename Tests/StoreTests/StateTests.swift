import Documents
import Foundation
import JSON
import Store
import TestSupport
import Testing
import Turnstone
import Unix

@Suite struct StateTests {
    let folder = TemporaryFolder()

    private func state(_ entries: [(String, String)]) throws -> State {
        var variables = Variables()
        for (name, value) in entries { variables.offer(name, value) }
        return try State(variables)
    }

    @Test("the folder is made, for its owner alone, and says its version")
    func made() throws {
        let path = "\(folder.path)/var/turnstone"
        #expect(try state([("TURNSTONE_STATE", path)]).folder == path)
        #expect(folder.read("var/turnstone/version.json") == Array(#"{"version":3}"#.utf8))
        let facts = try FileManager.default.attributesOfItem(atPath: path)
        #expect(facts[.posixPermissions] as? Int == 0o700)
    }

    @Test("a document counts as unusable until its version is one that a document may have")
    func newerDocument() throws {
        let state = try state([("TURNSTONE_STATE", folder.path)])
        let file = "users/eb/1783478.json"
        func put(version: Int64) throws {
            let document: JSONObject = ["version": .integer(version), "revision": 1]
            try folder.write(JSON.text(.object(document)), to: file)
        }
        // The folder's own version is no document's.
        try put(version: 3)
        UnusableFiles.record("\(folder.path)/\(file)", FailureCause.newer)
        #expect(try state.unusable().map(\.name) == [file])
        try put(version: 2)
        #expect(try state.unusable().isEmpty)
    }

    @Test("systemd's folder counts where ours is not named, the first one of several")
    func systemd() throws {
        let ours = "\(folder.path)/ours"
        let theirs = "\(folder.path)/theirs"
        #expect(try state([("STATE_DIRECTORY", "\(theirs):/elsewhere")]).folder == theirs)
        #expect(try state([("STATE_DIRECTORY", theirs), ("TURNSTONE_STATE", ours)]).folder == ours)
        #expect(try state([("STATE_DIRECTORY", theirs), ("TURNSTONE_STATE", "")]).folder == theirs)
    }

    @Test("a transfer that a killed program was writing down is removed after an hour")
    func unfinishedTransfer() throws {
        _ = try state([("TURNSTONE_STATE", folder.path)])
        for name in ["old", "new"] { try folder.write("{", to: "transfers/\(name).json.new") }
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -7200)],
            ofItemAtPath: "\(folder.path)/transfers/old.json.new")
        _ = try state([("TURNSTONE_STATE", folder.path)])
        #expect(folder.read("transfers/old.json.new") == nil)
        #expect(folder.read("transfers/new.json.new") != nil)
    }

    @Test("a folder must have an absolute path")
    func relative() {
        #expect(
            throws: Failure.misconfigured(
                """
                unable to use TURNSTONE_STATE (environment): must be an absolute path, such as \
                /var/lib/turnstone
                """
            )
        ) {
            try state([("TURNSTONE_STATE", "state")])
        }
    }

    @Test(
        "a folder of a newer version, or of none that can be read, is refused and left alone",
        arguments: [
            (#"{"version":4}"#, "newer"), (#"{"version":99,"more":1}"#, "newer"), ("", "corrupt"),
            ("{", "corrupt"), ("{}", "corrupt"), (#"{"version":"1"}"#, "corrupt"), ("1", "corrupt"),
        ])
    func version(text: String, expected: String) throws {
        try folder.write(text, to: "version.json")
        #expect(cause { _ = try state([("TURNSTONE_STATE", folder.path)]) } == expected)
        #expect(folder.files() == ["version.json": Array(text.utf8)])
    }

    @Test("many programs at once make one folder")
    func makersAtOnce() async throws {
        let path = "\(folder.path)/deep/down"
        _ = try await atOnce(8) { _ in try Scratch.open(path).folder }
        #expect(folder.read("deep/down/version.json") == Array(#"{"version":3}"#.utf8))
    }

    private func stop(_ service: String, since: Int64) -> DeliveryStop {
        DeliveryStop(
            service: service, reason: "InvalidProviderToken",
            since: Timestamp(milliseconds: since), until: Timestamp(milliseconds: 1000),
            settings: "a")
    }

    @Test("a service's stop is known until it is taken back, keeps its start, and is its own")
    func deliveryStop() throws {
        let state = try state([("TURNSTONE_STATE", folder.path)])
        #expect(try state.deliveryStops().isEmpty)
        try state.setDeliveryStop(stop("apns", since: 1), of: "apns")
        try state.setDeliveryStop(stop("apns", since: 2), of: "apns")
        try state.setDeliveryStop(stop("other", since: 3), of: "other")
        #expect(try state.deliveryStop(of: "apns") == stop("apns", since: 1))
        try state.setDeliveryStop(nil, of: "apns")
        #expect(try state.deliveryStops() == [stop("other", since: 3)])
    }

    @Test("refusals count for the settings under which they were, until a push is accepted")
    func refusals() throws {
        let state = try state([("TURNSTONE_STATE", folder.path)])
        let moment = Timestamp(milliseconds: 1000)
        func refuse(_ users: Set<UserID>, under settings: String) throws -> Int? {
            try state.recordRefusals(
                State.SeenRefusals("DeviceTokenNotForTopic", to: users, first: moment),
                by: "apns", under: settings)
            return try state.refusals(by: "apns", under: settings)?.users
        }
        let users = try ["ann", "bob", "cy"].map { try #require(UserID($0)) }
        #expect(try refuse([users[0], users[1]], under: "a") == 2)
        #expect(try refuse([users[1], users[2]], under: "a") == 3)
        #expect(try state.refusals(by: "apns", under: "b") == nil)
        #expect(try refuse([users[0]], under: "b") == 1)
        #expect(try state.refusals().map(\.users) == [1])
        #expect(
            try state.eraseTraces(of: users[0], [], at: Scratch.time, report: { _ in }).files == 1)
        #expect(try state.refusals(by: "apns", under: "b")?.users == 0)
        try state.recordRefusals(nil, by: "apns", under: "b") { _ in true }
        #expect(try state.refusals().isEmpty)
    }

    @Test("refusals since the last acceptance and those to kept devices are told apart")
    func refusalsBesideKeptDevices() throws {
        let state = try state([("TURNSTONE_STATE", folder.path)])
        func seen(_ reason: String, _ names: [String], _ first: Int64) throws
            -> State.SeenRefusals
        {
            State.SeenRefusals(
                reason, to: try Set(names.map { try #require(UserID($0)) }),
                first: Timestamp(milliseconds: first), in: [.production])
        }
        func known() throws -> [String] {
            try state.refusals().map {
                "\($0.reason) \($0.users) \($0.since.milliseconds) \($0.areKept)"
            }
        }
        try state.recordRefusals(
            nil, keeping: seen("Unregistered", ["ann", "bob", "cy"], 1000), by: "apns", under: "a")
        try state.recordRefusals(seen("BadTopic", ["dan"], 2000), by: "apns", under: "a")
        #expect(try known() == ["BadTopic 1 2000 false", "Unregistered 3 1000 true"])
        #expect(try state.refusals(by: "apns", under: "a")?.users == 1)
        // The reasons are those of the last report.
        try state.recordRefusals(
            seen("BadTopic", ["eve"], 3000), keeping: seen("BadDeviceToken", ["ann"], 3000),
            by: "apns", under: "a")
        #expect(try known() == ["BadTopic 2 2000 false", "BadDeviceToken 3 1000 true"])
        try state.recordRefusals(nil, by: "apns", under: "a") { !$0.areKept }
        #expect(try known() == ["BadDeviceToken 3 1000 true"])
        #expect(try state.refusals(by: "apns", under: "a") == nil)
        let user = try #require(UserID("ann"))
        #expect(
            try state.eraseTraces(of: user, [], at: Scratch.time, report: { _ in }).files == 1)
        #expect(try known() == ["BadDeviceToken 2 1000 true"])
        // Other settings end both.
        try state.recordRefusals(seen("BadTopic", ["eve"], 4000), by: "apns", under: "b")
        #expect(try known() == ["BadTopic 1 4000 false"])
    }

    @Test("the document of an earlier version, which had one entry for both, is read")
    func formerRefusals() throws {
        let state = try state([("TURNSTONE_STATE", folder.path)])
        func entry(_ more: String) -> String {
            #"{"reason":"Unregistered","since":1000,"settings":"a","users":["1","2","3"]\#(more)}"#
        }
        try folder.write(
            #"{"version":1,"revision":1,"refusing":{"apns":"#
                + entry(#","accepts_others":true"#) + #","fcm":"# + entry("") + "}}",
            to: "delivery.json")
        #expect(try state.refusals().map(\.areKept) == [true, false])
        #expect(try state.refusals(by: "apns", under: "a") == nil)
        let user = try #require(UserID("ann"))
        try state.recordRefusals(
            State.SeenRefusals("BadTopic", to: [user], first: Timestamp(milliseconds: 2000)),
            by: "apns", under: "a")
        let refusals = try state.refusals().sorted { $0.users < $1.users }
        #expect(refusals.map(\.reason) == ["BadTopic", "Unregistered", "Unregistered"])
        #expect(refusals.filter(\.areKept).map(\.service) == ["apns"])
        // It writes its entry beside that of today's programs.
        try folder.write(
            #"{"version":1,"revision":2,"refusing":{"apns":"#
                + entry(#","accepts_others":true"#) + #"},"keeping":{"apns":"# + entry("") + "}}",
            to: "delivery.json")
        #expect(try state.refusals().map(\.areKept) == [true])
    }

    /// `deliver` reports once a minute what it has seen since it began.
    @Test("refusals that go on although a push was accepted keep their start, and are written once")
    func refusalsAfterAcceptances() throws {
        let state = try state([("TURNSTONE_STATE", folder.path)])
        let users = try Set(["ann", "bob", "cy"].map { try #require(UserID($0)) })
        func report(_ first: Int64, isOver: Bool) throws {
            let kept = State.SeenRefusals(
                "Unregistered", to: users, first: Timestamp(milliseconds: first),
                in: [.production])
            try state.recordRefusals(nil, keeping: kept, by: "apns", under: "a") { _ in isOver }
        }
        try report(1000, isOver: true)
        try report(2000, isOver: false)
        #expect(try state.refusals().map(\.since) == [Timestamp(milliseconds: 1000)])
        #expect(try state.refusals().map(\.environments) == [[.production]])
        try report(2000, isOver: true)
        #expect(try state.refusals().map(\.since) == [Timestamp(milliseconds: 2000)])
        let written = folder.read("delivery.json")
        try report(2000, isOver: true)
        try report(3000, isOver: false)
        #expect(folder.read("delivery.json") == written)
    }

    @Test("refusals that are recorded while a user is erased are kept")
    func refusalsDuringErasure() async throws {
        for _ in 0..<10 {
            let state = try state([("TURNSTONE_STATE", folder.path)])
            _ = try await atOnce(2) { number in
                for index in 0..<19 {
                    let user = try #require(UserID(number == 0 ? "user \(index)" : "gone"))
                    try patiently {
                        try state.recordRefusals(
                            State.SeenRefusals(
                                "BadTopic", to: [user], first: Timestamp(milliseconds: 1000)),
                            by: "apns", under: "a")
                    }
                    guard number == 1 else { continue }
                    _ = try patiently {
                        try state.eraseTraces(of: user, [], at: Scratch.time, report: { _ in })
                    }
                }
            }
            #expect(try state.refusals(by: "apns", under: "a")?.users == 19)
            try state.recordRefusals(nil, by: "apns", under: "a") { _ in true }
        }
    }

    @Test(
        "a deleted note counts as an empty one, and is written again",
        arguments: ["delivery", "ogs"])
    func deletedNote(name: String) throws {
        let state = try state([("TURNSTONE_STATE", folder.path)])
        let moment = Timestamp(milliseconds: 1000)
        for _ in 0..<2 {
            try state.setDeliveryStop(stop("apns", since: 1), of: "apns")
            try state.recordAcceptances(in: [.production], of: "apns", under: "a")
            try state.setBackOff(BackOff(after: nil, requested: nil, now: moment))
            try #require(folder.read("\(name).json") != nil)
            Files.remove("\(folder.path)/\(name).json")
            #expect(try (name == "ogs" ? state.backOff() == nil : state.deliveryStops().isEmpty))
        }
        try state.recordAcceptances(in: [.production], of: "apns", under: "a")
        #expect(try state.acceptances(of: "apns", under: "a") == [.production])
        #expect(try state.acceptances(of: "apns", under: "b").isEmpty)
    }

    @Test(
        "a stop holds for the settings that were refused, until its time is over",
        arguments: [
            ("a", 999, true), ("a", 1000, false), ("b", 999, false), ("a", -3_600_001, false),
        ]
            as [(String, Int64, Bool)])
    func stopHolds(settings: String, now: Int64, holds: Bool) {
        let stop = stop("apns", since: 1)
        #expect(stop.holds(for: settings, at: Timestamp(milliseconds: now)) == holds)
    }

    @Test("requests to OGS get times at a steady distance, whoever asks")
    func pace() throws {
        let paces = try (0..<2).map { _ in try state([("TURNSTONE_STATE", folder.path)]).pace }
        let start = Instant.now
        let waits = try (0..<6).map { try paces[$0 % 2].reserve(perSecond: 1).milliseconds }
        let gone = Instant.now - start
        for (number, wait) in waits.enumerated() {
            let distance = Int64(number) * 1000
            #expect(wait <= distance && wait >= distance - gone.milliseconds - 1)
        }
    }

    @Test("what cannot wait reserves nothing")
    func impatientPace() throws {
        let pace = try state([("TURNSTONE_STATE", folder.path)]).pace
        #expect(try pace.reserve(perSecond: 1, within: .seconds(0)) == .seconds(0))
        for _ in 0..<20 {
            #expect(try pace.reserve(perSecond: 1, within: .milliseconds(1)) == nil)
        }
        #expect(try pace.reserve(perSecond: 1) <= .seconds(1))
    }

    @Test(
        "a schedule too far ahead, or damaged, is begun anew",
        arguments: ["99999999999999999999", "9000000000000000000", "x", ""])
    func damagedPace(text: String) throws {
        let pace = try state([("TURNSTONE_STATE", folder.path)]).pace
        try folder.write(text, to: "ogs.pace")
        #expect(try pace.reserve(perSecond: 1) == .seconds(0))
        #expect(folder.read("ogs.pace")?.count == 20)
    }
}
