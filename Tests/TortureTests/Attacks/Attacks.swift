import Foundation
import TestSupport
import Testing

/// Attacks that once stopped, slowed or filled an installation for everybody, made by a stranger with nothing
/// but a valid token or key.
///
/// The tests check counts and order. Milliseconds are only reported.
///
/// Not tried here: attacks without any token or key (`HostTests`), two machines with one state folder, and
/// attacks by an operator.
@Suite(.serialized) enum Attacks {}

/// A row of the table of attacks.
struct AttackRow {
    private let attack: String
    private let test: String
    private let door: Door

    /// - Parameter test: the calling function, by whose name `infra/torture` runs it again.
    init(_ attack: String, through door: Door = .events, test: String = #function) {
        self.attack = attack
        self.door = door
        self.test = Rows.test(test)
    }

    /// Adds a row for one figure of the attack.
    ///
    /// - Parameters:
    ///   - before: the figure as it was measured when the attack was found.
    ///   - now: the figure as this run has measured it.
    func report(_ figure: String, before: String, now: String) throws {
        try Rows.add([
            "test": .string(test), "door": .string(door.rawValue), "attack": .string(attack),
            "figure": .string(figure), "before": .string(before), "now": .string(now),
        ])
    }
}

/// How requests arrive.
enum Door: String, CaseIterable, CustomTestStringConvertible {
    /// As events on standard input, without a web server.
    case events
    /// Through nginx and fcgiwrap.
    case nginx

    static let all = TestSupport.Host.nginx.obstacle == nil ? allCases : [.events]

    var testDescription: String { rawValue }
}

/// The milliseconds that something takes.
func milliseconds(_ work: () throws -> Void) rethrows -> Double {
    let clock = ContinuousClock()
    return try clock.measure(work) / .milliseconds(1)
}

extension [Double] {
    /// The middle one, with one decimal.
    var median: String {
        isEmpty ? "-" : String(format: "%.1f", sorted()[count / 2])
    }

    /// The largest one, with one decimal.
    var most: String { self.max().map { String(format: "%.1f", $0) } ?? "-" }
}

extension Int {
    /// `31 of 40`.
    func of(_ all: Int) -> String { "\(self) of \(all)" }
}
