import Foundation
import Testing
import Turnstone

/// A row of the table of faults: the results of many trials of one fault.
final class Row {
    private let fault: String
    private let test: String
    private let started = Date.now
    private(set) var tried = 0
    private var struck = 0
    private var lost = 0
    private var repeated = 0
    private var repeatedForNothing = 0
    private var pushes = 0

    /// - Parameter test: the calling function, by whose name `infra/torture` runs it again.
    init(_ fault: String, test: String = #function) {
        self.fault = fault
        self.test = Rows.test(test)
    }

    /// Counts a trial, and fails the test unless nothing was lost and nothing came twice for nothing.
    ///
    /// - Parameters:
    ///   - hasStruck: whether the fault came about; it does not where a program takes another way.
    ///   - losesAnswers: whether the fault can be the loss of an answer, after which a push is repeated.
    func count(
        _ verdict: Verdict, _ trial: String, hasStruck: Bool = true, losesAnswers: Bool = true
    ) {
        tried += 1
        struck += hasStruck ? 1 : 0
        pushes += verdict.expected
        lost += verdict.lost.count
        repeated += verdict.repeated
        repeatedForNothing += verdict.repeatedForNothing.count
        #expect(verdict.lost.isEmpty, "\(trial): lost")
        #expect(verdict.repeatedForNothing.isEmpty, "\(trial): twice, and no answer was lost")
        #expect(verdict.wrong.isEmpty, "\(trial)")
        #expect(verdict.repeated == 0 || (hasStruck && losesAnswers), "\(trial): sent twice")
    }

    /// Adds the row to the table.
    func report() throws {
        try Rows.add([
            "test": .string(test), "fault": .string(fault), "tried": .integer(Int64(tried)),
            "struck": .integer(Int64(struck)), "pushes": .integer(Int64(pushes)),
            "lost": .integer(Int64(lost)), "repeated": .integer(Int64(repeated)),
            "repeated_for_nothing": .integer(Int64(repeatedForNothing)),
            "seconds": .integer(Int64(Date.now.timeIntervalSince(started).rounded())),
        ])
    }
}
