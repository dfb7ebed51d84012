import Foundation
import Testing
import Turnstone

@Suite struct Base64Tests {
    /// RFC 4648 section 10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
    ])
    func aTextIsTheStandards(plain: String, text: String) {
        let bytes = Array(plain.utf8)
        let bare = text.filter { $0 != "=" }
        #expect(base64(bytes) == text)
        #expect(base64URL(bytes) == bare)
        #expect(base64Decoded(text) == bytes)
        #expect(base64URLDecoded(bare) == bytes)
    }

    @Test func everyByteComesBack() {
        for count in 0..<67 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 251) }
            #expect(base64(bytes) == Data(bytes).base64EncodedString())
            #expect(base64Decoded(base64(bytes)) == bytes)
            #expect(base64URLDecoded(base64URL(bytes)) == bytes)
        }
        #expect(base64([0xfb, 0xff]) == "+/8=")
        #expect(base64URL([0xfb, 0xff]) == "-_8")
    }

    @Test(arguments: [
        "Z", "Zg", "Zg=", "Zg===", "=Zg=", "Z===", "====", "Zh==", "Zm9=", "Zm 9v", "Zm9v\n",
        "Zm9v=",
        "-_8=", "Zm9vé", "Zg==Zg==",
    ])
    func onlyWhatTheEncoderWritesIsRead(text: String) {
        #expect(base64Decoded(text) == nil)
    }

    @Test(arguments: ["Z", "Zg==", "Zh", "Zm9", "+/8", "Zm 9v", "Zm9v\n", "Zm9v="])
    func theURLFormIsAsStrict(text: String) {
        #expect(base64URLDecoded(text) == nil)
    }
}
