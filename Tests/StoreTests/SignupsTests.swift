import Testing
import Turnstone

@testable import Store

@Suite struct SignupsTests {
    @Test(
        "an address counts with its network",
        arguments: [
            ("192.0.2.1", "192.0.2.1"), ("::ffff:192.0.2.1", "192.0.2.1"), ("", ""),
            ("2001:db8:1:2:3:4:5:6", "2001:0db8:0001:0002::"),
            ("2001:DB8:1:2::9", "2001:0db8:0001:0002::"),
            ("2001:db8::9", "2001:0db8:0000:0000::"), ("::1", "0000:0000:0000:0000::"),
            ("fe80::1%eth0", "fe80:0000:0000:0000::"),
            ("::", "0000:0000:0000:0000::"), ("1::", "0001:0000:0000:0000::"),
        ])
    func addresses(address: String, network: String) {
        #expect(Store.network(of: address) == network)
    }

    @Test(
        "a code is found wherever it stands, and nothing else is one",
        arguments: [
            ("turnstone-0123456789abcdef0123", true),
            ("<b>Turnstone-0123456789ABCDEF0123</b>", true),
            ("turnstone-turnstone-0123456789abcdef0123", true),
            ("turnstone-1123456789abcdef0123 turnstone-0123456789abcdef0123", true),
            ("turnstone-0123456789abcdef012", false), ("turnstone-0123456789abcdef0124", false),
            ("0123456789abcdef0123", false), ("", false), ("turnstone-", false),
        ])
    func codes(text: String, isShown: Bool) {
        #expect(Signups.shows("turnstone-0123456789abcdef0123", text) == isShown)
    }
}
