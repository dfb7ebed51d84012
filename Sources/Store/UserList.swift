import Documents
import Turnstone
import Unix

/// The users who have a document, one after the other, so that a million names are never in memory together.
package struct UserList {
    private let state: State
    /// The folders of `users/` that are still to come, in reverse order.
    private var shards: [String]
    /// Names of documents in the present folder.
    private var names: ArraySlice<String> = []
    /// Whether documents that were set aside as damaged count as well.
    private let hasSetAside: Bool

    package init(_ state: State) throws(Failure) {
        self.state = state
        hasSetAside = false
        shards = try systemCalls(Files.names(in: state.users.folder)).sorted(by: >)
    }

    /// The users whose documents are, or were before they were set aside as damaged, in one folder of
    /// `users/`.
    init(_ state: State, folder: String) {
        self.state = state
        hasSetAside = true
        shards = [folder]
    }

    /// The next user; `nil` at the end. A document that was made since may be missing.
    package mutating func next() throws(Failure) -> UserID? {
        while true {
            if let name = names.popFirst() {
                guard let user = try user(of: name) else { continue }
                return user
            }
            guard let shard = shards.popLast() else { return nil }
            names = try files(in: "\(state.users.folder)/\(shard)")[...]
        }
    }

    /// All that are still to come. Users whose ids only damaged documents tell are left out.
    mutating func all() throws(Failure) -> [UserID] {
        var users: [UserID] = []
        while true {
            do throws(Failure) {
                guard let user = try next() else { return users }
                users.append(user)
            } catch {
                try error.recordIfOfOneDocument()
            }
        }
    }

    private func files(in folder: String) throws(Failure) -> [String] {
        do throws(SystemError) {
            let names = try Files.names(in: folder)
            let documents = names.filter {
                $0.utf8.count > 5 && $0.utf8.suffix(5).elementsEqual(".json".utf8)
            }
            return hasSetAside ? documents + setAside(among: names, documents) : documents
        } catch {
            guard error.errno.isFileSpecific || error.errno == .notDirectory else {
                throw error.failure
            }
            return []  // `health` reports the folder
        }
    }

    /// The documents that are only there as damaged copies.
    private func setAside(among names: [String], _ documents: [String]) -> [String] {
        let copies = names.compactMap { StoredDocument<User>.document(ofCopy: $0) }
        guard !copies.isEmpty else { return [] }
        // Only the tokens in a document tell the user of a name that is a hash.
        return Set(copies).subtracting(documents).filter { !$0.utf8.starts(with: "==".utf8) }
    }

    private func user(of name: String) throws(Failure) -> UserID? {
        let file = String(decoding: Array(name.utf8.dropLast(5)), as: UTF8.self)
        if let user = UserID(fileName: file) { return user }
        guard file.utf8.starts(with: "==".utf8) else { return nil }
        // The name is only a hash. The tokens know whose they are.
        let shard = String(decoding: Array(file.utf8.dropFirst(2).prefix(2)), as: UTF8.self)
        let document = DocumentName(file: file, shard: shard)
        for device in try state.users[named: document].read()?.devices ?? [] {
            for user in try state.tokens[device.token].read()?.users ?? []
            where user.documentName.file == file {
                return user
            }
        }
        return nil
    }
}

extension UserID {
    /// The user whose ``fileName`` this is; `nil` if it is nobody's.
    init?(fileName: String) {
        var bytes: [UInt8] = []
        var rest = Array(fileName.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "=") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(value),
                let low = rest.popFirst().flatMap(value)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        self.init(String(decoding: bytes, as: UTF8.self))
        // Also refuses bytes that are no UTF-8, and digits in upper case.
        guard self.fileName == fileName else { return nil }
    }
}

/// The value of a lower-case hex digit.
private func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
}
