import Testing

/// Names the hosts that the other tests leave out.
@Suite struct HostObstacleTests {
    @Test func hostsThatCannotBeTestedAreNamed() {
        for host in Host.allCases {
            if let obstacle = host.obstacle { print("skipped: \(host): \(obstacle)") }
        }
        #expect(!Host.testable.isEmpty)
    }
}
