import Edge
import JWT
import Messages
import PushServices
import Spool
import Store
import Texts
import Turnstone

extension Examination {
    /// The settings that programs would refuse.
    func configurationProblems() -> [Problem] {
        var sentences: [String] = []
        if let sentence = variables.malformedLine { sentences.append(sentence) }
        // One by one: a wrong value must not hide another.
        for check in [
            linger, queue, apns, fcm, webPush, drainers, ogsCertificates, ogsAddress, ogsContact,
            ogsPace,
            turns, turnTexts, interval,
            webTokens, serverKeys, origins, templates, quotas, requestLimits, signup, logFormat,
        ] {
            do throws(Failure) { try check() } catch {
                // Two checks may read the same variable.
                if !sentences.contains(error.sentence) { sentences.append(error.sentence) }
            }
        }
        return sentences.map { Problem(configurationFault: .misconfigured($0)) }
    }

    private func linger() throws(Failure) { _ = try variables.lingerInterval() }

    private func queue() throws(Failure) { _ = try variables.queue() }

    private func apns() throws(Failure) { _ = try APNsSettings(variables) }

    private func fcm() throws(Failure) { _ = try FCMSettings(variables) }

    private func webPush() throws(Failure) { _ = try WebPushSettings(variables) }

    private func drainers() throws(Failure) { _ = try Spools.startsDrainers(variables) }

    private func ogsCertificates() throws(Failure) {
        _ = try CertificateFile.path(in: variables, "OGS_CA_FILE")
    }

    private func ogsAddress() throws(Failure) { _ = try variables.ogsAddress() }

    private func ogsContact() throws(Failure) { _ = try variables.ogsContact() }

    private func ogsPace() throws(Failure) { _ = try state.requestsPerSecond(variables) }

    private func turns() throws(Failure) { _ = try TurnSettings(variables) }

    private func turnTexts() throws(Failure) {
        try TextFolder(try TurnSettings(variables), report: { _ in }).check()
    }

    private func interval() throws(Failure) { _ = try state.checkInterval(variables) }

    /// The server keys and allowed origins. Each may be unset: then nobody may call that way.
    private func serverKeys() throws(Failure) { _ = try variables.serverKeys() }

    private func origins() throws(Failure) { _ = try AllowedOrigins(variables) }

    private func quotas() throws(Failure) { _ = try state.quotas() }

    private func requestLimits() throws(Failure) {
        _ = try state.callerRequestsPerMinute()
        _ = try state.newTokensPerHour()
    }

    private func signup() throws(Failure) { _ = try variables.allowsSignup() }

    private func logFormat() throws(Failure) { try variables.checkLogFormat() }

    /// An installation without either variable accepts no JSON Web Tokens.
    private func webTokens() throws(Failure) {
        guard variables.text("JWT_SECRET") != nil || variables.text("JWT_PUBLIC_KEY_PATH") != nil
        else { return }
        _ = try JWTSettings(variables)
    }

    private func templates() throws(Failure) { try TemplateFolder(variables)?.checkFiles() }
}
