import Foundation
import Glibc
import TestSupport
import Testing
import TurnstoneKit

/// The transport for Linux in processes of their own, whose environment and descriptors are the test's alone.
@Suite(.ownExecutor(seconds: 120)) struct TransportProcessTests {
    private static func server() -> LoopbackServer {
        LoopbackServer { _ in .init(body: Array(#"{"api_keys": []}"#.utf8)) }
    }

    private static func client(of server: LoopbackServer) throws -> PlayerClient {
        PlayerClient(
            at: try #require(URL(string: server.base)), player: "1", key: "0a",
            transport: DefaultTransport(timeout: 10), patience: .none)
    }

    private static func descriptors() -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
    }

    @Test func aProxyOfTheEnvironmentGetsNoKeyForThisMachine() async {
        await #expect(processExitsWith: .success) {
            let proxy = Self.server()
            let server = Self.server()
            for name in ["http_proxy", "all_proxy"] { setenv(name, proxy.base, 1) }
            let keys = try await Self.client(of: server).keys()
            #expect(keys.isEmpty)
            #expect(proxy.requests.isEmpty && server.requests.count == 1)
        }
    }

    @Test func aClientThatIsNotUsedCostsNoDescriptor() async {
        await #expect(processExitsWith: .success) {
            let base = try #require(URL(string: "http://127.0.0.1:1"))
            _ = Self.descriptors()
            let before = Self.descriptors()
            let clients = (1...50).map { PlayerClient(at: base, player: "\($0)", key: "0a") }
            #expect(Self.descriptors() == before)
            withExtendedLifetime(clients) {}
        }
    }

    /// Such a transport has nothing by which it could be woken.
    @Test func aTransportThatBeganWhileDescriptorsWereShortAnswersLater() async {
        await #expect(processExitsWith: .success) {
            let server = Self.server()
            let highest = (0..<1024).last { fcntl($0, F_GETFD) >= 0 } ?? 0
            var limit = rlimit(rlim_cur: rlim_t(highest) + 9, rlim_max: rlim_t(highest) + 9)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            var taken: [Int32] = []
            while case let number = dup(1), number >= 0 { taken.append(number) }
            let client = try Self.client(of: server)
            await #expect(throws: TurnstoneError.self) { try await client.keys() }
            for number in taken { close(number) }
            let began = ContinuousClock.now
            for _ in 1...3 { _ = try await client.keys() }
            #expect(ContinuousClock.now - began < .seconds(5))
        }
    }
}
