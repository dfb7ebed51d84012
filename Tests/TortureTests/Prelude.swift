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
        }
    }

    private func refuse(_ trial: Trial) throws {
        for service in Set(trial.ground.targets.map(\.service)) {
            try trial.ground.simulator.perform([
                "do": .string("\(service.rawValue)-fault"), "status": 503, "every": 2,
            ])
        }
    }
}
