import Foundation
import TestSupport
import Testing
import Turnstone

@testable import Spool

/// Boxes that several programs move at once.
@Suite struct HeldTests {
    @Test("messages put back into a box stay, even if others move the box meanwhile")
    func putBack() throws {
        let scratch = Scratch()
        let spool = scratch.spool
        let user = UserID("42")!
        let box = HeldBox(of: user, "phone")
        let now = Scratch.now
        let ids = Set((0..<5).map { "n\($0)" })
        for id in ids {
            try spool.hold(
                Scratch.notification(id), Scratch.devices[0], in: box,
                until: now + .minutes(30), now: now)
        }
        // The drainer releases and puts back while the user's preferences keep changing.
        let threads = (0..<3).map { number in
            Thread {
                for round in 0..<600 {
                    do {
                        if number > 0 {
                            _ = try spool.lookAgain(at: user, now: now)
                            continue
                        }
                        let release = UUID().uuidString
                        try spool.release(box, as: release, among: spool.heldMoments())
                        let moment = now + .minutes(Int64(10 + round % 3))
                        try spool.putBack(
                            spool.messages(of: release) { (_, _, failure) throws(Failure) in
                                throw failure
                            }, of: release, into: box, until: moment, now: now)
                        try spool.finishRelease(release, now: now)
                    } catch { Issue.record(error) }
                }
            }
        }
        for thread in threads { thread.start() }
        while !threads.allSatisfy(\.isFinished) { usleep(1000) }
        let left = scratch.files.filter { $0.hasSuffix(".jsonl") }
            .map { URL(fileURLWithPath: $0).deletingPathExtension().lastPathComponent }
        #expect(left.sorted() == ids.sorted())
    }
}
