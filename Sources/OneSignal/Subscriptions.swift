import Documents
import Edge
import Store
import Turnstone

/// The requests of OneSignal's clients about one subscription.
package struct Subscriptions {
    let state: State
    let request: Request

    package init(_ request: Request) throws(Failure) {
        self.request = request
        state = try State(request.variables)
    }

    /// - Throws: not found if there is no such subscription.
    package func find(_ id: String) throws(Failure) -> (user: UserID, device: Device) {
        guard let found = try state.registry.devices(withIDs: [id]).first else {
            throw noSubscription
        }
        return (found.user, found.device)
    }

    /// The subscription with a token, and the user who has it.
    ///
    /// - Parameter type: its type, as OneSignal names it.
    @export(interface)
    package func find(
        _ type: String, token text: String
    ) throws(Failure) -> (user: UserID, device: Device) {
        let platform = try SubscriptionBody.platform(type)
        guard platform != .web else {
            // Its keys belong to its token here, and the path names the endpoint alone.
            throw unsupported("\(type) in this path", "name the subscription by its id")
        }
        guard let token = DeviceToken(text, on: platform) else { throw noSubscription }
        for user in try state.registry.users(of: token) {
            let devices = try state.users[user].read()?.devices ?? []
            let device = devices.first { $0.token == token && $0.platform == platform }
            if let device { return (user, device) }
        }
        throw noSubscription
    }

    /// Makes a subscription of a user.
    @export(interface)
    package func make(
        for user: UserID
    ) throws(Failure) -> Response {
        var fields = try request.fields()
        let body = try SubscriptionBody(
            .object(fields.requiredObject("subscription")), request.variables)
        try fields.finish(ignoring: [])
        let device = try body.claim(for: user, state, as: request)
        return Response(status: 201, body: ["subscription": device.subscription])
    }

    /// Changes a subscription.
    ///
    /// - Parameter find: looks it up, after the body was read.
    @export(interface)
    package func update(
        _ find: () throws(Failure) -> (user: UserID, device: Device)
    ) throws(Failure) -> Response {
        var fields = try request.fields()
        let members = try fields.requiredObject("subscription")
        try fields.finish(ignoring: [])
        let device = try following(find) { (user, device) throws(Failure) in
            let body = try SubscriptionBody(
                .object(members), changing: device, request.variables)
            return try body.claim(for: user, changing: device, state, as: request)
        }
        return Response(status: 202, body: ["subscription": device.subscription])
    }

    /// Changes a subscription; again if another request has given it to another user, or another token, since
    /// it was found.
    func following<Result>(
        _ find: () throws(Failure) -> (user: UserID, device: Device),
        _ change: (_ user: UserID, _ device: Device) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var rounds = 0
        while true {
            let found = try find()
            rounds += 1
            do throws(Failure) { return try change(found.user, found.device) } catch {
                guard case .refused = error.disposition, rounds < 10 else { throw error }
                let devices = try state.users[found.user].read()?.devices ?? []
                guard !devices.contains(where: { $0.token == found.device.token }) else {
                    throw error
                }
            }
        }
    }

    package func delete(_ id: String, at time: Timestamp) throws(Failure) -> Response {
        // Players may share it.
        try state.registry.remove(find(id).device.token, at: time)
        return Response(status: 202, body: [:])
    }

    /// Gives a subscription to another user, who is made if the external id is new.
    @export(interface)
    package func transfer(_ id: String) throws(Failure) -> Response {
        var fields = try request.fields()
        let identity = try fields.requiredObject("identity")
        try fields.finish(ignoring: ["retain_previous_owner"])
        guard identity.members.count == 1, let owner = identity.members.first,
            let name = owner.value.string
        else { throw .malformed("identity must have one alias") }
        _ = try find(id)
        let user: UserID
        if let known = try state.user(owner.name, name) {
            user = known
        } else if owner.name == Identity.externalID, let new = UserID(name) {
            user = new
        } else {
            throw noUser
        }
        try following({ () throws(Failure) in try find(id) }) { (_, device) throws(Failure) in
            try give(device, to: user)
        }
        let document = try state.users[user].read() ?? User()
        return .ok(["identity": Identity.shown(user, document.profile)])
    }

    /// Makes a device another user's alone, with its id and all that is known of it.
    func give(_ device: Device, to user: UserID) throws(Failure) {
        guard try state.registry.users(of: device.token) != [user] else { return }
        _ = try state.registry.transfer(device, to: user, at: request.time)
        Log().registered(device.token, of: user)
    }
}
