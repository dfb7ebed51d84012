import HTTP2
import HTTP2Server
import JSON
import Turnstone
import Unix

/// The stand-ins behind one server, and the commands that control them.
final class Stage {
    let workshop: Workshop
    let site = Site()
    let gateway: Gateway
    /// The ports of APNs, if it was asked for.
    let apns: APNsPorts?
    /// FCM, if it was asked for.
    let fcm: FCMGateway?
    /// The Web Push service, if it was asked for.
    let web: WebService?
    let server: Server
    let isQuiet: Bool
    private let ogs: String
    let environment: String
    private let endsWithInput: Bool
    private var input: [UInt8] = []
    private var inputIsOpen = true
    private var isEnded = false
    /// Reactions that are not due yet, with their due time on the monotonic clock.
    private var delayed: [(due: Instant, Reaction, ServerConnection, stream: Int32)] = []
    private var waits: [Wait] = []
    private var shift = Interval(milliseconds: 0)
    private var frozen: Timestamp?

    /// A command that waits until this many pushes were accepted and this many requests have arrived.
    struct Wait {
        let pushes: Int
        let requests: Int
        let deadline: Instant
        let target: ReplyTarget
    }

    /// Where a command's answer goes.
    enum ReplyTarget {
        case output
        case client(ServerConnection, stream: Int32)
    }

    init(_ workshop: Workshop, _ options: Simulator) throws(Failure) {
        self.workshop = workshop
        environment = options.environment
        endsWithInput = options.untilStdinEnds
        isQuiet = options.quietJournal
        gateway = Gateway(
            bundle: workshop.bundle, isDevelopment: environment == "development",
            streams: options.streams)
        gateway.journal.isQuiet = isQuiet
        gateway.tokens.keys[workshop.keyID] = ProviderTokens.Key(
            team: workshop.team, publicKey: try workshop.publicKey(workshop.keyID))
        server = Server(
            try .server(certificate: workshop.certificate, key: workshop.certificateKey))
        let ogsPort = try server.listen(port: options.ogsPort, ServerLimits())
        ogs = "https://127.0.0.1:\(ogsPort)"
        apns =
            options.services.contains(.apns)
            ? try APNsPorts(on: server, options: options) : nil
        fcm = try Self.fcmGateway(on: server, workshop, options: options)
        fcm?.journal.isQuiet = isQuiet
        web = try Self.webService(on: server, options: options)
        web?.isQuiet = isQuiet
        if options.printPushes {
            gateway.onPush = { StandardStreams.writeErrors(phonePicture($0)) }
        }
    }

    /// Writes `simulator.env` and prints where everything is.
    func announce() throws(Failure) {
        try workshop.writeEnvironment(
            ogs: ogs, pushServices: apnsEnvironment + fcmEnvironment + webEnvironment)
        var members: JSONObject = [
            "ogs": .string(ogs), "ca": .string(workshop.authority),
            "env": .string(workshop.environmentPath),
        ]
        if let apns {
            members["apns"] = .string(apns.address)
            members["management"] = .string(apns.management)
            members["apns_key"] = .string(workshop.keyPath(workshop.keyID))
            members["key_id"] = .string(workshop.keyID)
            members["team_id"] = .string(workshop.team)
            members["bundle_id"] = .string(workshop.bundle)
        }
        if let fcm {
            members["fcm"] = .string(fcm.address)
            members["service_account"] = .string(workshop.accountPath)
            members["project_id"] = .string(workshop.project)
        }
        if let web { members["web"] = .string(web.origin) }
        printLine(members)
    }

    /// Serves requests and commands until the end.
    func run() {
        while !isEnded {
            let isEarly = gateway.early != nil
            for connection in server.connections where connection.listener == apns?.listener {
                connection.deliversEarly = isEarly
                connection.isDeaf = gateway.connections.isDeaf(to: connection.number)
            }
            if let fcm {
                for connection in server.connections where connection.listener == fcm.listener {
                    connection.isDeaf = fcm.connections.isDeaf(to: connection.number)
                }
            }
            for connection in server.connections where connection.listener == web?.listener {
                connection.isDeaf = web?.isDeaf == true
            }
            // Input is read even while a command waits: its sender may have gone.
            if server.wait(for: patience, also: inputIsOpen ? 0 : nil) { readCommands() }
            if !isOutputWaiting { performLines() }
            for (connection, request) in server.takeRequests() {
                react(request, connection)
                carryOutPlans()
            }
            carryOutDelayed()
            endWaits()
        }
    }

    /// The clock of all stand-ins: the system's, unless a command sets it.
    var now: Timestamp { (frozen ?? .systemNow) + shift }

    func setClock(_ moment: Timestamp?, advance: Interval?) {
        if let advance {
            shift = (now + advance) - (frozen ?? .systemNow)
        } else {
            frozen = moment
            shift = Interval(milliseconds: 0)
        }
    }

    // MARK: Requests

    private func react(_ request: ServerRequest, _ connection: ServerConnection) {
        if connection.listener == apns?.listener {
            guard let reaction = gateway.react(to: request, on: connection, now: now) else {
                return
            }
            return take(reaction, connection, request.stream)
        }
        if connection.listener == apns?.managementListener {
            return take(gateway.manage(request, now: now), connection, request.stream)
        }
        if let fcm, connection.listener == fcm.listener {
            guard let reaction = fcm.react(to: request, on: connection, now: now) else { return }
            return take(reaction, connection, request.stream)
        }
        if let web, connection.listener == web.listener {
            guard let reaction = web.react(to: request, on: connection, now: now) else { return }
            return take(reaction, connection, request.stream)
        }
        if request.fields[":path"] == "/simulator/command", request.fields[":method"] == "POST" {
            return perform(request.body, .client(connection, stream: request.stream))
        }
        take(site.react(to: request), connection, request.stream)
    }

    private func take(_ reaction: Reaction, _ connection: ServerConnection, _ stream: Int32) {
        guard reaction.delay > .seconds(0) else { return carryOut(reaction, connection, stream) }
        delayed.append((Instant.now + reaction.delay, reaction, connection, stream))
    }

    private func carryOutDelayed() {
        guard !delayed.isEmpty else { return }
        let now = Instant.now
        for (due, reaction, connection, stream) in delayed where due <= now {
            carryOut(reaction, connection, stream)
        }
        delayed.removeAll { $0.due <= now }
    }

    private func carryOut(
        _ reaction: Reaction, _ connection: ServerConnection, _ stream: Int32
    ) {
        reaction.carryOut(connection, stream)
        if connection.listener == apns?.listener { gateway.didAnswer(on: connection) }
    }

    // MARK: Commands

    private func readCommands() {
        do throws(SystemError) {
            let bytes = try StandardStreams.readInput(upTo: 65_536)
            if bytes.isEmpty { endInput() }
            input += bytes
        } catch { endInput() }
    }

    private func endInput() {
        inputIsOpen = false
        isEnded = endsWithInput
    }

    /// Performs commands in their order, with one answer for each line.
    private func performLines() {
        while !isEnded, !isOutputWaiting, let end = input.firstIndex(of: UInt8(ascii: "\n")) {
            let line = Array(input[..<end])
            input.removeFirst(end + 1)
            if line.contains(where: { $0 > 0x20 }) { perform(line, .output) }
        }
    }

    private func perform(_ text: [UInt8], _ target: ReplyTarget) {
        do throws(Failure) {
            guard let command = try parsed(text).object else {
                throw badCommand("a command must be a JSON object")
            }
            if command["do"] == "wait" { return try wait(command, target) }
            if command["do"] == "end" { isEnded = true }
            let done: JSONObject = ["ok": true]
            answer(done.joined(with: try perform(command)), target)
        } catch {
            answer(["ok": false, "error": .string(error.sentence)], target)
        }
    }

    private func parsed(_ text: [UInt8]) throws(Failure) -> JSONValue {
        do throws(JSONError) { return try JSON.parse(text) } catch {
            throw badCommand(error.sentence(about: "the command"))
        }
    }

    private func answer(_ members: JSONObject, _ target: ReplyTarget) {
        switch target {
        case .output: printLine(members)
        case .client(let connection, let stream):
            let status = members["ok"] == true ? 200 : 400
            let fields = [("content-type", "application/json")]
            let body = JSON.text(.object(members)) + [UInt8(ascii: "\n")]
            connection.answer(stream, ServerAnswer(status: status, fields, body: body))
        }
    }

    private func printLine(_ members: JSONObject) {
        let line = JSON.text(.object(members)) + [UInt8(ascii: "\n")]
        do throws(SystemError) { try StandardStreams.writeOutput(line) } catch {
            StandardStreams.writeErrors("simulator: \(error.failure.sentence)\n")
        }
    }

    // MARK: Waiting

    private func wait(_ command: JSONObject, _ target: ReplyTarget) throws(Failure) {
        let pushes = try command.number("pushes")
        let requests = try command.number("requests")
        guard pushes != nil || requests != nil else {
            throw badCommand("pushes or requests is missing")
        }
        let patience = try command.patience() ?? .seconds(10)
        waits.append(
            Wait(
                pushes: Int(clamping: pushes ?? 0), requests: Int(clamping: requests ?? 0),
                deadline: Instant.now + patience, target: target))
    }

    private func endWaits() {
        guard !waits.isEmpty else { return }
        let now = Instant.now
        for wait in waits where isReached(wait) || wait.deadline <= now {
            answer(
                [
                    "ok": true, "reached": .bool(isReached(wait)),
                    "accepted": JSONValue(accepted),
                ], wait.target)
        }
        waits.removeAll { isReached($0) || $0.deadline <= now }
    }

    private func isReached(_ wait: Wait) -> Bool {
        let requests = gateway.requests + (fcm?.requests ?? 0) + (web?.requests ?? 0)
        return accepted >= wait.pushes && requests >= wait.requests
    }

    /// The number of pushes that all push services have accepted.
    private var accepted: Int {
        gateway.journal.accepted + (fcm?.journal.accepted ?? 0) + (web?.accepted ?? 0)
    }

    /// Whether the next line must wait until an earlier one is answered.
    private var isOutputWaiting: Bool {
        waits.contains { if case .output = $0.target { true } else { false } }
    }

    private var patience: Interval? {
        if !isOutputWaiting, input.contains(UInt8(ascii: "\n")) { return .seconds(0) }
        let moments = delayed.map(\.due) + waits.map(\.deadline)
        guard let next = moments.min() else { return nil }
        return max(.seconds(0), next - Instant.now)
    }
}
