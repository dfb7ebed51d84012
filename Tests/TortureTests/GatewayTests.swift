import JSON
import TestSupport
import Testing
import Turnstone

/// Behaviour that HTTP/2 allows a gateway, end to end through `deliver`.
@Suite struct GatewayTests {
    private static let places = Array(1...200)

    private func goAway(_ number: Int, _ more: JSONObject) -> [JSONObject] {
        var command: JSONObject = ["do": "goaway", "after": .integer(Int64(number))]
        for member in more.members { command[member.name] = member.value }
        return [command]
    }

    @Test("GOAWAY after any stream loses nothing and repeats nothing")
    func goaway() throws {
        let faults = Length.sample(Self.places, few: 4).flatMap {
            [goAway($0, [:]), goAway($0, ["each": true])]
        }
        try attempt(
            Row("GOAWAY after the n-th stream, n = 1…200, with unprocessed streams"),
            Ground(players: 5, devices: 44, .queued), faults, losesAnswers: false)
    }

    @Test("GOAWAY after any stream with the connection's end loses nothing")
    func goawayAbrupt() throws {
        let faults = Length.sample(Self.places, few: 4).flatMap { number in
            [
                [["do": "apns-fault", "kind": "delay", "ms": 20]]
                    + goAway(number, ["abrupt": true]),
                goAway(number, ["abrupt": true, "code": 2, "reason": "InternalServerError"]),
            ]
        }
        try attempt(
            Row("GOAWAY after the n-th stream and the connection's end, answers under way"),
            Ground(players: 5, devices: 44, .queued), faults)
    }

    @Test("GOAWAY when nothing is left to be done costs nothing")
    func goawayProcessed() throws {
        let faults = Length.sample(Self.places, few: 4).map { number -> [JSONObject] in
            [["do": "settings", "streams": 1]] + goAway(number, [:])
        }
        try attempt(
            Row("GOAWAY after the n-th stream, n = 1…200, one stream at a time"),
            Ground(players: 5, devices: 44, .queued), faults, losesAnswers: false)
    }

    @Test("RST_STREAM of any code, of pushes that were taken and of others")
    func rstStream() throws {
        var faults: [[JSONObject]] = []
        for code in 0...13 {
            // A server that says "refused" has taken nothing (RFC 9113 section 8.7).
            for isAccepted in code == 7 ? [false] : [false, true] {
                for every in Length.isLong ? [1, 3, 10] : [3] {
                    faults.append([
                        [
                            "do": "apns-fault", "kind": "reset", "code": .integer(Int64(code)),
                            "accepted": .bool(isAccepted), "every": .integer(Int64(every)),
                            "count": 10,
                        ]
                    ])
                }
            }
        }
        try attempt(
            Row("RST_STREAM with each code from 0 to 13"),
            Ground(players: 3, devices: 10, .queued), faults)
    }

    @Test("a limit of streams that falls to 1 in the middle and rises again")
    func settings() throws {
        let faults = Length.sample([1, 2, 5, 20, 50, 100, 150], few: 3).flatMap { fall in
            Length.sample([1, 10, 60], few: 2).map { rise -> [JSONObject] in
                [
                    ["do": "settings", "streams": 1, "after": .integer(Int64(fall))],
                    ["do": "settings", "streams": 1000, "after": .integer(Int64(fall + rise))],
                ]
            }
        }
        try attempt(
            Row("SETTINGS that lower the limit to 1 in the middle and raise it again"),
            Ground(players: 5, devices: 44, .queued), faults, losesAnswers: false)
    }

    @Test("an answer before the body is sent")
    func early() throws {
        let faults = [500, 503, 429].map {
            [["do": "early", "status": .integer($0)]] as [JSONObject]
        }
        try attempt(
            Row("answers before the body is sent: 500, 503, 429"),
            Ground(players: 3, devices: 20, .queued), faults, losesAnswers: false)
    }

    @Test("429 and 5xx wait and lose nothing")
    func busy() throws {
        let faults = [429, 500, 503].flatMap { status in
            [1, 3, 7].map { every -> [JSONObject] in
                [
                    [
                        "do": "apns-fault", "status": .integer(status), "every": .integer(every),
                        "count": 40,
                    ]
                ]
            }
        }
        try attempt(
            Row("429, 500 and 503 to each, each third and each seventh push"),
            Ground(players: 3, devices: 20, .queued), faults, losesAnswers: false)
    }
}
