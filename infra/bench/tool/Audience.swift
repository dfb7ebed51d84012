import Crypto
import Store
import Turnstone
import Unix

/// Users with tags: every fifth is on the plan `pro`, every other one of them tries the beta, and every other
/// user has two devices. Beside the documents, which are written without fsync, stand the files `users.tsv`
/// (id, tags, language, country) and `devices.tsv` (token, id of the user), as PostgreSQL's COPY reads them.
func makeAudience(in folder: String, count: Int64) throws(Failure) {
    var users: [UInt8] = []
    var devices: [UInt8] = []
    let unsynced = UnsyncedUsers(try state(in: folder))
    let tables = try systemCalls { () throws(SystemError) in
        try (
            FileDescriptor.open("\(folder)/users.tsv", .truncate),
            FileDescriptor.open("\(folder)/devices.tsv", .truncate)
        )
    }
    for number in 0..<count {
        let tags = tags(number)
        let (language, country) = (["en", "de", "ja"][Int(number % 3)], "DE")
        let first = 1_764_000_000_000 - number * 1000
        let tokens = (0...(number % 2)).map { place in
            hex(SHA256.hash(Array("device \(number) \(place)".utf8)))
        }
        let list = tokens.map { #"{"token":"\#($0)","registered_at":1}"# }
        let name = "user-\(number)"
        try unsynced.write(
            #"{"devices":[\#(list.joined(separator: ","))],"ledger":[],"notices":0,"#
                + #""profile":{"tags":\#(tags),"language":"\#(language)","country":"\#(country)","#
                + #""first_session":\#(first),"last_session":\#(first + number % 90 * 86_400_000),"sessions":3,"revision":1}}"#,
            to: name)
        users += Array("\(name)\t\(tags)\t\(language)\t\(country)\n".utf8)
        for token in tokens { devices += Array("\(token)\t\(name)\n".utf8) }
        if users.count > 1 << 20 || number == count - 1 {
            try systemCalls { () throws(SystemError) in
                try tables.0.write(users)
                try tables.1.write(devices)
            }
            users = []
            devices = []
        }
    }
}

private func tags(_ number: Int64) -> String {
    let beta = number / 5 % 2 == 0 ? "yes" : "no"
    return
        #"{"plan":"\#(number % 5 == 0 ? "pro" : "free")","beta":"\#(beta)","level":\#(number % 100),"team":"t\#(number % 1000)"}"#
}

/// Changes a tag of one user, and commits, `count` times.
func retag(in folder: String, count: Int64, user number: Int64) throws(Failure) {
    let users = try state(in: folder).users
    guard let name = UserID("user-\(number)") else { throw .malformed("no such user") }
    for turn in 1...max(1, count) {
        try users[name].update { (document) throws(Failure) in
            document.profile.tags["level"] = .integer(turn)
        }
    }
}
