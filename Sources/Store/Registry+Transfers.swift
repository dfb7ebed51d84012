import Documents
import Turnstone
import Unix

extension Registry {
    /// Gives a device to another user, with its id and all that is known of it.
    ///
    /// - Throws: a conflict if the user has as many devices as allowed.
    @export(interface)
    package func transfer(
        _ device: Device, to user: UserID, at time: Timestamp
    ) throws(Failure) -> Device {
        try claim(Registration(moving: device), for: user, at: time)
    }

    /// Finishes the transfers that killed programs have left. Those at which a program is at work stay.
    func finishTransfers() {
        var names: [String] = []
        do throws(SystemError) { names = try Files.names(in: state.transfers.folder) } catch {}
        for name in names {
            guard name.utf8.suffix(5).elementsEqual(".json".utf8) else {
                // No program writes for so long.
                Files.removeLeftover("\(state.transfers.folder)/\(name)", after: .hours(1))
                continue
            }
            let hash = String(decoding: Array(name.utf8.dropLast(5)), as: UTF8.self)
            do throws(Failure) {
                try finish(state.transfers[named: DocumentName(single: hash)])
            } catch {
                error.recordFile()
            }
        }
    }

    private func finish(_ document: StoredDocument<DeviceTransfer>) throws(Failure) {
        guard let transfer = try document.readUnlocked(), let user = transfer.user,
            let device = transfer.device
        else { return }
        var registration = Registration(moving: device)
        registration.isResumed = true
        try Lock.waiting(upTo: .milliseconds(0)) { () throws(Failure) in
            let isOver = try state.tokens[device.token].holding { (known, _) throws(Failure) in
                // The document may be a copy: since then, the transfer has ended, or was overtaken.
                let holders = try devices(by: .token(device.token))
                let isOver =
                    !known.users.contains(user) || known.since.map { $0 > transfer.time } ?? false
                    || holders.contains {
                        $0.user != user && $0.device.registered > transfer.time
                    }
                if isOver { try end(registration) }
                return isOver
            }
            // It may have begun while the clock was ahead.
            let time = min(transfer.time, .systemNow)
            if !isOver { _ = try claim(registration, for: user, at: time) }
        }
    }

    /// The registration with the device as its user has it now.
    func refreshed(
        _ registration: Registration, among users: [UserID]
    ) throws(Failure) -> Registration {
        guard registration.isFreshMove else { return registration }
        for user in users {
            let devices = try state.users[user].read()?.devices ?? []
            guard let device = devices.first(where: { $0.token == registration.token }) else {
                continue
            }
            return Registration(moving: device)
        }
        throw Self.hasMoved
    }

    /// Removes a device from all users. A transfer that is under way ends first.
    @export(interface)
    package func remove(_ token: DeviceToken, at time: Timestamp) throws(Failure) {
        let lost = try state.tokens[token].holding {
            (known, _) throws(Failure) -> [(devices: [Device], user: UserID)] in
            var lost: [(devices: [Device], user: UserID)] = []
            for user in known.users { lost.append((try take(token, from: user), user)) }
            try end(Registration(token))
            return lost
        }
        for (devices, user) in lost { try finishRemoval(of: devices, from: user, at: time) }
    }

    /// Whether a device with one of these ids is on its way from one user to another, so that nobody has it.
    func isMoving(_ ids: [String]) throws(Failure) -> Bool {
        for name in try systemCalls(Files.names(in: state.transfers.folder))
        where name.utf8.suffix(5).elementsEqual(".json".utf8) {
            let hash = String(decoding: Array(name.utf8.dropLast(5)), as: UTF8.self)
            let transfer = try state.transfers[named: DocumentName(single: hash)].readUnlocked()
            if transfer?.device?.ids.contains(where: { ids.contains($0) }) == true { return true }
        }
        return false
    }

    /// Whether a token, named by its SHA-256, is on its way from one user to another.
    func isMoving(token: String) throws(Failure) -> Bool {
        try state.transfers[named: DocumentName(single: token)].readUnlocked() != nil
    }

    /// Whether a transfer has begun or ended within the last second or two.
    func hasJustMovedDevices() throws(Failure) -> Bool {
        guard let stamp = try systemCalls(Files.stamp(of: state.transfers.folder)) else {
            return false
        }
        return (-1...1).contains(Timestamp.systemNow.seconds - stamp.seconds)
    }

    /// Writes down that a transfer begins. The token's index must be locked.
    func begin(
        _ registration: Registration, for user: UserID, at time: Timestamp
    ) throws(Failure) {
        let document = state.transfers[named: registration.transferName]
        guard !registration.isResumed else {
            guard try document.readUnlocked() != nil else {
                throw Failure(
                    .later(seconds: 1), "another program has finished the transfer; try again",
                    cause: "finished")
            }
            return
        }
        guard let device = registration.moved else { return }
        try document.writeUnlocked(DeviceTransfer(of: device, to: user, at: time))
    }

    /// Gives a device that cannot be transferred back to the user who lost it.
    func giveBack(
        _ registration: Registration, to users: [(devices: [Device], user: UserID)],
        at time: Timestamp
    ) throws(Failure) {
        guard registration.moved != nil, let previous = users.first(where: { !$0.devices.isEmpty })
        else { return }
        _ = try add(registration, to: previous.user, asPlayer: false, at: time)
        try end(registration)
    }

    /// Removes what a transfer of the token has written down: it is over, or overtaken by a registration. The
    /// token's index must be locked.
    func end(_ registration: Registration) throws(Failure) {
        let path = state.transfers[named: registration.transferName].path
        guard try systemCalls(Files.erase(path)) else { return }
        try systemCalls(Files.synchronizeFolder(of: path))
    }
}

extension Registration {
    fileprivate var transferName: DocumentName { DocumentName(single: token.documentName.file) }
}
