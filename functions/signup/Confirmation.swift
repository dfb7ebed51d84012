import Edge
import OGS
import Store
import Turnstone
import Unix

/// A request to confirm a signup.
struct Confirmation {
    private let name: String
    private let token: String
    private let revokesOthers: Bool
    private let request: Request
    private let state: State
    private var signups: Signups { state.signups }

    /// OGS answers in less than a second or is in trouble.
    private static let patience = Interval.seconds(3)

    init(_ fields: inout Fields, _ request: Request) throws(Failure) {
        name = try fields.playerName()
        token = try fields.requiredText("token")
        revokesOthers = try fields.boolean("revoke_others") ?? false
        self.request = request
        state = try State(request.variables)
    }

    /// Makes the key if the player's profile has the code.
    func key() throws(Failure) -> JSONObject {
        let address = request.address ?? ""
        try signups.count(.attempts(address: address))
        guard let proof = try signups.proof(of: token, for: name, at: request.time) else {
            throw unusable
        }
        // Only now, so that nobody can spend another's attempts without a token for the name.
        try signups.count(.attemptsOfOne(address: address, name: name))
        try signups.count(.attemptsOnName(name))
        try signups.count(.attemptsOfAll)
        let profile = try readProfile()
        guard Signups.shows(proof.code, profile.about) else {
            throw .refused(
                .forbidden,
                "the code is not in the profile of \(profile.name) yet; save it there and try again"
            )
        }
        return try makeKey(proof, for: profile)
    }

    /// Makes the proof's key, or finds it: the answer to an earlier request may have been lost.
    private func makeKey(
        _ proof: Signups.Proof, for profile: PlayerProfile
    ) throws(Failure) -> JSONObject {
        // The app's own users may have numbers, too. A key shows that the operator knows a user as the
        // player.
        if let known = try state.users[profile.player].read(), !known.isPlayer,
            try state.keys.list(of: profile.player).isEmpty
        {
            throw .refused(
                .conflict,
                "this app has a user with the id \(profile.player) who is not a player; ask its operator for a key"
            )
        }
        let description = "signup"
        let others = revokesOthers ? try state.keys.list(of: profile.player).map(\.id) : []
        let made: Keys.Listed?
        do throws(Failure) {
            made = try state.keys.create(
                proof.key, for: profile.player, description: description, at: request.time)
        } catch {
            // If there are as many keys as allowed, the others must go first.
            guard error.disposition == .refused(.conflict), !others.isEmpty else { throw error }
            try revoke(others, of: profile.player)
            made = try state.keys.create(
                proof.key, for: profile.player, description: description, at: request.time)
        }
        guard let made else { throw unusable }
        if try signups.use(proof, at: request.time) {
            Log().event("made a key by signup", ["player": .string("\(profile.player)")])
        }
        try revoke(others.filter { $0 != made.id }, of: profile.player)
        return [
            "api_key": .string(proof.key), "user_id": .string("\(profile.player)"),
            "username": .string(profile.name),
            "created_at": .string(CalendarDate(made.key.created).text),
            "description": .string(description),
        ]
    }

    private var unusable: Failure {
        .refused(
            .unauthenticated,
            "this code has expired, was used, or is for another name; ask for a new one")
    }

    private func revoke(_ ids: [String], of player: PlayerID) throws(Failure) {
        for id in ids { _ = try state.keys.revoke(id, of: player, at: request.time) }
    }

    // MARK: Online-Go.com

    /// Finds the player and reads the profile, once.
    private func readProfile() throws(Failure) -> PlayerProfile {
        let settings = try OGSClient.Settings(request.variables)
        let client = try OGSClient(profilesWith: settings)
        let found = try ask { (patience) throws(Failure) in
            try client.player(named: name, patience: patience)
        }
        return try ask { (patience) throws(Failure) in
            try client.profile(of: found.player, patience: patience)
        }
    }

    /// Makes one request, within the installation's schedule and outside its pauses.
    private func ask(
        _ question: (_ patience: Interval) throws(Failure) -> ProfileOutcome
    ) throws(Failure) -> PlayerProfile {
        let backOff = try state.backOff()
        if let backOff, backOff.isActive(at: request.time) { throw pausing(backOff) }
        let perSecond = try state.requestsPerSecond(request.variables)
        let pause = try state.pace.reserve(perSecond: perSecond, within: Self.patience)
        guard let pause else { throw busy }
        sleep(for: pause)
        switch try question(Self.patience) {
        case .found(let profile): return profile
        case .unknownPlayer:
            throw .refused(
                .notFound, "Online-Go.com knows no player called \(name); check the name")
        case .backOff(let requested):
            let next = BackOff(after: backOff, requested: requested, now: request.time)
            try state.setBackOff(next)
            throw pausing(next)
        case .outage(let reason):
            throw Failure(.later(seconds: 10), reason, cause: "outage")
        }
    }

    private var busy: Failure {
        Failure(
            .later(seconds: 10), "many requests to Online-Go.com are under way; try again",
            cause: FailureCause.busy)
    }

    private func pausing(_ backOff: BackOff) -> Failure {
        let left = max(1, (backOff.until - request.time).seconds)
        return Failure(
            .later(seconds: Int(left)),
            "Online-Go.com is not asked until \(CalendarDate(backOff.until).text)", cause: "paused")
    }
}
