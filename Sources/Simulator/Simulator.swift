import ArgumentParser
import Turnstone
import Unix

/// Stands in for OGS and APNs on loopback; README.md beside this file is its contract.
@main
struct Simulator: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulator",
        abstract:
            "Stands in for Online-Go.com and APNs on loopback, and is stricter than they are.",
        discussion: """
            Prints one line of JSON that says where it listens, and takes commands as lines of JSON on \
            standard input, each answered by one line.
            """,
        version: "simulator (Turnstone) \(turnstoneVersion)")

    @Option(help: "Where certificates, keys and simulator.env are kept; made where missing.")
    var folder: String

    @Option(help: "The port of OGS; 0 takes a free one.")
    var ogsPort: UInt16 = 0

    @Option(help: "The port of APNs; 0 takes a free one.")
    var apnsPort: UInt16 = 0

    @Option(help: "The port where APNs' broadcast channels are managed; 0 takes a free one.")
    var managementPort: UInt16 = 0

    @Option(help: "The app's bundle id, from which topics follow.")
    var bundle = "com.example.turnstone"

    @Option(help: "Which APNs this is: development or production.")
    var environment = "development"

    @Option(help: "How many streams APNs allows once a first request was valid.")
    var streams = 1000

    @Flag(help: "Count pushes by apns-id, and keep nothing else of them.")
    var quietJournal = false

    @Flag(help: "Show each push on standard error as a phone would.")
    var printPushes = false

    @Flag(help: "End when standard input ends.")
    var untilStdinEnds = false

    func run() throws {
        ThisProcess.begin()
        do throws(Failure) {
            let workshop = try Workshop(folder: folder, bundle: bundle)
            let stage = try Stage(workshop, self)
            try stage.announce()
            stage.play()
        } catch {
            StandardStreams.writeErrors("simulator: \(error.sentence)\n")
            throw ExitCode(100)
        }
    }

    func validate() throws {
        guard ["development", "production"].contains(environment) else {
            throw ValidationError("the environment must be development or production")
        }
        guard streams >= 1 else { throw ValidationError("there must be at least one stream") }
    }
}
