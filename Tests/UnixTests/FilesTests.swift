import Foundation
import TestSupport
import Testing
import Turnstone
import Unix

@Suite struct FilesTests {
    let folder = TemporaryFolder()

    @Test("a replaced file holds the new bytes, whatever a killed writer has left")
    func replace() throws {
        let path = "\(folder.path)/a.json"
        try folder.write("old and long", to: "a.json")
        try folder.write("half of somebody else's file, and longer", to: "a.json.new")
        try Files.replace(path, with: Array("new".utf8))
        #expect(folder.files() == ["a.json": Array("new".utf8)])
    }

    @Test("a failed write is an error that names the call and the file")
    func failedReplace() throws {
        try folder.write("", to: "a.json/inside")  // a folder, which no file can take the place of
        #expect(throws: SystemError("rename", "\(folder.path)/a.json.new", Errno(rawValue: EISDIR)))
        {
            try Files.replace("\(folder.path)/a.json", with: [1])
        }
        #expect(throws: SystemError("open", "\(folder.path)/none/a.new", .noEntry)) {
            try Files.replace("\(folder.path)/none/a", with: [1])
        }
    }

    @Test("new files belong to their owner alone")
    func modes() throws {
        let path = "\(folder.path)/one/two/three"
        try Files.makeFolder(path)
        try Files.makeFolder(path)  // it may be there already
        try Files.replace("\(path)/file", with: [])
        for (name, mode) in [("one", 0o700), ("one/two", 0o700), ("one/two/three/file", 0o600)] {
            let facts = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/\(name)")
            #expect(facts[.posixPermissions] as? Int == mode, "\(name)")
        }
    }

    @Test("a missing file has no contents, an unreadable one an error")
    func contents() throws {
        try folder.write("x", to: "file")
        #expect(try Files.contents("\(folder.path)/file") == [UInt8(ascii: "x")])
        #expect(try Files.contents("\(folder.path)/none") == nil)
        #expect(try Files.contents("\(folder.path)/file/none") == nil)
        #expect(throws: SystemError("open", folder.path, Errno(rawValue: EISDIR))) {
            try Files.contents(folder.path)
        }
    }

    @Test("a file of no stated size is read to its end")
    func unsized() throws {
        #expect(try Files.contents("/proc/self/status")?.isEmpty == false)
    }

    @Test("a folder's names are all there, a missing folder has none")
    func names() throws {
        for name in ["a", ".b", "c d", "é", "sub/x"] { try folder.write("", to: name) }
        #expect(try Set(Files.names(in: folder.path)) == ["a", ".b", "c d", "é", "sub"])
        #expect(try Files.names(in: "\(folder.path)/none").isEmpty)
        #expect(throws: SystemError("list", "\(folder.path)/a", .notDirectory)) {
            try Files.names(in: "\(folder.path)/a")
        }
    }

    @Test("a folder goes with its files, but not with folders in it")
    func removeFolder() throws {
        try folder.write("", to: "full/a")
        try folder.write("", to: "deep/down/a")
        try Files.removeFolder("\(folder.path)/full")
        try Files.removeFolder("\(folder.path)/full")
        #expect(throws: SystemError.self) { try Files.removeFolder("\(folder.path)/deep") }
        #expect(folder.files().keys.sorted() == ["deep/down/a"])
    }

    @Test(
        "a path has a folder and a name",
        arguments: [
            ("/a/b.json", "/a", "b.json"), ("/a", "/", "a"), ("a", ".", "a"), ("a/b/", "a/b", ""),
        ])
    func parts(path: String, parent: String, name: String) {
        #expect(Files.parent(of: path) == parent)
        #expect(Files.name(of: path) == name)
    }
}
