import Foundation
import Testing

@testable import WebPush

@Suite struct PublicAddressTests {
    @Test(
        "special addresses are refused",
        arguments: [
            "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255",
            "127.0.0.1", "127.255.255.255", "169.254.169.254", "172.16.0.1", "172.31.255.255",
            "192.0.0.1", "192.0.2.7", "192.88.99.1", "192.168.0.1", "192.168.255.255",
            "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1",
            "239.255.255.255", "240.0.0.1", "255.255.255.255",
            "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:10.0.0.1",
            "64:ff9b::10.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b:1::1", "100::1", "2001::1",
            "2001:1ff::1", "2001:db8::1", "2002:a00:1::1", "2002:808:808::1", "3fff:fff::1",
            "5f00::1", "fc00::1", "fd12:3456::1", "fe80::1", "fec0::1", "ff02::1",
        ])
    func special(address: String) throws {
        #expect(!isPublicAddress(try bytes(address)))
    }

    @Test(
        "the Internet's are not",
        arguments: [
            "1.0.0.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
            "126.255.255.255", "128.0.0.0", "169.253.255.255", "172.15.255.255", "172.32.0.0",
            "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
            "223.255.255.255",
            "2001:200::1", "2001:4860:4860::8888", "2003::1", "2606:4700::1111", "2a00:1450::1",
            "3ffe:ffff::1", "64:ff9b::8.8.8.8",
        ])
    func open(address: String) throws {
        #expect(isPublicAddress(try bytes(address)))
    }

    @Test func whatIsNoAddressIsRefused() {
        #expect(!isPublicAddress([]))
        #expect(!isPublicAddress([8, 8, 8]))
        #expect(!isPublicAddress([UInt8](repeating: 0x20, count: 15)))
    }

    private func bytes(_ text: String) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 16)
        if text.contains(":") {
            try #require(inet_pton(AF_INET6, text, &buffer) == 1)
            return buffer
        }
        try #require(inet_pton(AF_INET, text, &buffer) == 1)
        return Array(buffer.prefix(4))
    }
}
