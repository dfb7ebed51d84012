import Edge
import Spool
import Store
import Turnstone

extension State {
    /// The queues of the installation.
    package var spools: Spools { Spools(state: folder, shards: shards) }

    /// Starts what delivers, once a request has accepted something or made it due. The failure to do so is
    /// only logged: ``Spools/startDrainer(_:output:report:)``.
    package func startDrainer(for request: Request) {
        spools.startDrainer(request.variables) { Log().failure($0) }
    }
}
