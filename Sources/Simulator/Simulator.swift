import ArgumentParser
import Turnstone
import Unix

/// The simulator: stands in for OGS and the push services on loopback. README.md in this folder is its
/// contract.
@main
struct Simulator: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulator",
        abstract:
            "Stands in for Online-Go.com and push services on loopback, and is stricter than they are.",
        discussion: """
            Prints one line of JSON that says where it listens. Then it reads commands, one JSON object per line, from \
            standard input, and answers each with one line.
            """,
        version: "simulator (Turnstone) \(turnstoneVersion)")

    @Option(help: "The folder for certificates, keys and simulator.env; created if missing.")
    var folder: String

    @Option(help: "The port of OGS; 0 picks a free one.")
    var ogsPort: UInt16 = 0

    @Option(help: "The port of APNs; 0 picks a free one.")
    var apnsPort: UInt16 = 0

    @Option(help: "The port where APNs' broadcast channels are managed; 0 picks a free one.")
    var managementPort: UInt16 = 0

    @Option(
        help: "The push services that it stands in for besides OGS: any of apns, fcm and web.",
        transform: PushServiceName.list)
    var services: [PushServiceName] = [.apns]

    @Option(help: "The port of FCM; 0 picks a free one.")
    var fcmPort: UInt16 = 0

    @Option(help: "The port of the Web Push service; 0 picks a free one.")
    var webPort: UInt16 = 0

    @Option(help: "The app's bundle id, with which topics begin.")
    var bundle = "com.example.turnstone"

    @Option(help: "The APNs environment: development or production.")
    var environment = "development"

    @Option(help: "The number of streams that APNs allows after a valid first request.")
    var streams = 1000

    @Flag(help: "Keep only a count of pushes for each apns-id.")
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
            stage.run()
        } catch {
            StandardStreams.writeErrors("simulator: \(error.sentence)\n")
            throw ExitCode(100)
        }
    }

    func validate() throws {
        guard ["development", "production"].contains(environment) else {
            throw ValidationError("--environment must be development or production")
        }
        guard streams >= 1 else { throw ValidationError("--streams must be at least 1") }
    }
}
