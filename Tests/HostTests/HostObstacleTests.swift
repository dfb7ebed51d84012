import Testing

/// Names the hosts that the other tests leave out.
@Suite struct HostObstacleTests {
    @Test("a host can be tested here", arguments: Host.allCases)
    func obstacles(host: Host) throws {
        if let obstacle = host.obstacle { try Test.cancel("\(obstacle)") }
    }
}
