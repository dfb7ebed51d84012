import Turnstone

/// A fault that keeps an installation from its work.
struct Problem {
    let members: JSONObject

    /// - Parameters:
    ///   - kind: the problem's name for programs.
    ///   - message: what is wrong, for a person.
    ///   - action: what to do about it.
    init(_ kind: String, _ message: String, action: String, _ more: JSONObject = [:]) {
        var members: JSONObject = [
            "problem": .string(kind), "message": .string(message), "action": .string(action),
        ]
        for member in more.members { members[member.name] = member.value }
        self.members = members
    }

    /// A fault of the whole state folder or of the configuration.
    init(stateFault failure: Failure) {
        self.init(
            failure.disposition == .misconfigured ? "configuration" : "state folder",
            failure.sentence,
            action: failure.disposition == .misconfigured
                ? "Correct the configuration."
                : "Restore the state folder, or give it back to the account that runs Turnstone (chown, chmod)."
        )
    }

    init(configurationFault failure: Failure) {
        self.init("configuration", failure.sentence, action: "Correct the configuration.")
    }
}
