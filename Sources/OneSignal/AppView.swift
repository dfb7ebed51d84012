import Edge
import Messages
import Store
import Turnstone

/// The installation as OneSignal shows an app.
package enum AppView {
    @export(interface)
    package static func shown(_ app: App, _ request: Request) throws(Failure) -> JSONValue {
        let state = try State(request.variables)
        var fields = Fields(["everyone": true])
        let audience = try Audience(&fields, reaching: state.services)
        let count = try Outbox(state, now: request.time).count(audience)
        return [
            "id": .string(app.id), "name": "Turnstone",
            "players": .integer(Int64(count.devices + count.skipped)),
            "messageable_players": .integer(Int64(count.devices)),
            // `data` is found beside `aps`.
            "additional_data_is_root_payload": true,
        ]
    }
}
