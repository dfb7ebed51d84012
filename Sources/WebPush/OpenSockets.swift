import CUnix

/// The sockets of libcurl's connections.
///
/// libcurl writes each frame of HTTP/2 by itself, three for a message. To send each of them as a packet takes
/// longer than everything else that the kernel does for the message.
final class OpenSockets {
    /// By descriptor, the push service that each leads to.
    private var origins: [Int32: OriginState] = [:]

    func add(_ number: Int32, to origin: OriginState) { origins[number] = origin }

    /// Forgets a socket and closes it. C: `close(2)`.
    ///
    /// - Returns: 0, or -1 if that failed.
    func close(_ number: Int32) -> Int32 {
        origins[number] = nil
        return CUnix.close(number)
    }

    /// Runs `work`. What it writes to push services with waiting messages leaves in full packets, and the rest
    /// when it is done. C: `tcp(7)`, `TCP_CORK`.
    func gatheringWrites(_ work: () -> Void) {
        let numbers = origins.filter { !$0.value.waiting.isEmpty }.keys
        for number in numbers { setGathering(true, number) }
        work()
        // The number of a socket that was closed meanwhile may be another file's.
        for number in numbers where origins[number] != nil { setGathering(false, number) }
    }

    private func setGathering(_ isOn: Bool, _ number: Int32) {
        var value: Int32 = isOn ? 1 : 0
        setsockopt(
            number, Int32(IPPROTO_TCP), TCP_CORK, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}
