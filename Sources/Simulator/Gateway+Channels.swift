import HTTP2
import HTTP2Server
import JSON
import Turnstone

/// The stand-in for the management of APNs' broadcast channels.
///
/// Apple: *Sending channel management requests to APNs*.
extension Gateway {
    func manage(_ request: ServerRequest, now: Timestamp) -> Reaction {
        var fault: GatewayFault?
        do throws(PushRefusal) {
            let command = try ManagementRequest(request, bundle: bundle)
            _ = try tokens.check(request.fields["authorization"], now: now)
            try channels.checkEnabled()
            fault = strikeManagement(command.channel ?? "")
            if case .refuse(let refusal) = fault?.effect { throw refusal }
            let isAnswered = fault?.answersManagement ?? true
            if !isAnswered, fault?.isAccepted == false {
                return reaction(fault, ServerAnswer(status: 200))
            }
            let answer = try answer(command)
            channels.count(isAnswered ? command.name : "no answer")
            return reaction(fault, answer)
        } catch {
            channels.count(error.reason)
            let fields = [("content-type", "application/json")]
            return reaction(
                fault, ServerAnswer(status: error.status, fields, body: error.body))
        }
    }

    private func strikeManagement(_ channel: String) -> GatewayFault? {
        for index in channels.faults.indices where channels.faults[index].strikes(channel) {
            let fault = channels.faults[index]
            if fault.remaining == 0 { channels.faults.remove(at: index) }
            return fault
        }
        return nil
    }

    private func reaction(_ fault: GatewayFault?, _ answer: ServerAnswer) -> Reaction {
        let delay = fault?.delay ?? .seconds(0)
        switch fault?.effect {
        case .stall: return .stall
        case .drop(let resetting): return .drop(after: delay, resetting: resetting)
        case .reset(let code): return .reset(code: code, after: delay)
        case .refuse, .delay, nil: return .answer(answer, after: delay)
        }
    }

    private func answer(_ command: ManagementRequest) throws(PushRefusal) -> ServerAnswer {
        if channels.malformedAnswers > 0 {
            channels.malformedAnswers -= 1
            return ServerAnswer(status: 200, body: Array("<html>".utf8))
        }
        let fields = [("content-type", "application/json")]
        switch command {
        case .make(let policy):
            return ServerAnswer(
                status: 201, [("apns-channel-id", try channels.make(policy))])
        case .list:
            let list = JSONValue.array(channels.live.map { .string($0) })
            return ServerAnswer(status: 200, fields, body: JSON.text(["channels": list]))
        case .read(let id):
            let policy = try channels.find(id).policy
            let body: JSONValue = [
                "message-storage-policy": .integer(policy.number), "push-type": "LiveActivity",
            ]
            return ServerAnswer(status: 200, fields, body: JSON.text(body))
        case .delete(let id):
            guard var channel = channels.channels[id], !channel.isDeleted else {
                throw PushRefusal(404, "BadPath", "there is no such channel")
            }
            channel.isDeleted = true
            channels.put(id, channel)
            return ServerAnswer(status: 204)
        }
    }
}

extension GatewayFault {
    fileprivate var answersManagement: Bool {
        switch effect {
        case .refuse, .delay: true
        case .stall, .reset, .drop: false
        }
    }
}
