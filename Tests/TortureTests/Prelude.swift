import TestSupport

#if canImport(Glibc)
    import Glibc
#endif

/// The work before a fault: each way that a drainer may take through it.
enum Prelude {
    case none
    /// A drainer was killed when some answers had come and others had not.
    case killedDrainer
    /// The gateway is too busy for each second push.
    case busyGateway
    /// The gateway was too busy for the drainer before, and the pushes that were put off are due.
    case waited
    /// Each push service has three queues by now.
    case threeQueues
    /// A message to all waits in two queues of each push service, and there are three by now.
    case otherQueues
    /// The same, and the push service was too busy for each second push.
    case otherQueuesBegun
    /// A program was killed after it had accepted a message to all users, whose three queues each have a part
    /// of it, and before it had renamed these parts.
    case unfinishedParts

    func play(_ trial: Trial) throws {
        let simulator = trial.ground.simulator
        switch self {
        case .none: break
        case .killedDrainer:
            try simulator.perform([
                "do": "apns-fault", "kind": "stall", "accepted": true, "every": 2,
            ])
            let deliver = try trial.start("deliver")
            _ = try simulator.waitForPushes(3, milliseconds: 150)
            deliver.send(SIGKILL)
            _ = try deliver.end()
            simulator.clear()
        case .busyGateway: try refuse(trial)
        case .waited:
            try refuse(trial)
            try trial.run("deliver")
            simulator.clear()
            // APNs is left alone for a quarter of an hour and more.
            try trial.advance(seconds: 3601)
            guard trial.isDue() else { throw TestFailure("nothing has waited long enough") }
        case .threeQueues: trial.variables["TURNSTONE_SHARDS"] = "3"
        case .otherQueues: try queue(trial)
        case .otherQueuesBegun:
            try queue(trial) {
                try refuse(trial)
                try trial.run("deliver")
                simulator.clear()
                try trial.advance(seconds: 3601)
            }
        case .unfinishedParts:
            trial.variables["TURNSTONE_SHARDS"] = "3"
            try acceptWithoutNames(trial)
        }
    }

    /// Accepts a message to all while there are two queues.
    private func queue(_ trial: Trial, then work: () throws -> Void = {}) throws {
        trial.variables["TURNSTONE_SHARDS"] = "2"
        let event = trial.message("Hello")
        guard try Answer(event: trial.run("notify", event).stdout).status == 202 else {
            throw TestFailure("the message was not accepted")
        }
        try work()
        trial.variables["TURNSTONE_SHARDS"] = "3"
    }

    /// Kills `notify` before each rename, until the one that accepts the message was the last one made.
    private func acceptWithoutNames(_ trial: Trial) throws {
        for number in 1...40 {
            let call = Fault.Call(name: "rename", number: number)
            _ = try trial.start("notify", trial.message("Hello"), fault: .kill(before: call)).end()
            let files = trial.state.files().keys
            if files.contains(where: { $0.hasPrefix("spool/joint/") && !$0.hasSuffix(".new") }) {
                return
            }
        }
        throw TestFailure("no rename accepted the message")
    }

    private func refuse(_ trial: Trial) throws {
        for service in Set(trial.ground.targets.map(\.service)) {
            try trial.ground.simulator.perform([
                "do": .string("\(service.rawValue)-fault"), "status": 503, "every": 2,
            ])
        }
    }
}
