import Gateways

typealias SendingWindow = Gateways.SendingWindow
typealias Reconnection = Gateways.Reconnection

extension Gateways.SendingWindow {
    /// Too many errors make APNs lower the number of streams. A device that is gone does not count.
    mutating func adapt(to outcome: APNsOutcome) {
        switch outcome {
        case .accepted, .gone: adapt(to: Sign.good)
        case .refused, .quarantined, .later, .laterAsAsked: adapt(to: Sign.bad)
        case .stopQueue, .renewToken, .noVerdict, .notSent: break
        }
    }
}
