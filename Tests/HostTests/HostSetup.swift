import Foundation
import TestSupport

/// How a host is told to serve our programs: its configuration files, written into a folder, and the
/// commands that start it.
struct HostSetup {
    /// By program.
    private(set) var ports: [String: UInt16] = [:]
    private(set) var commands: [[String]] = []
    private let folder: TemporaryFolder
    /// The folder with the programs.
    private let programs: String
    /// A file that the host makes when it is ready, beside listening.
    private var sign: String?

    var isComplete: Bool { sign.map(FileManager.default.fileExists) ?? true }

    /// - Parameter changes: texts of nginx's configuration, and what stands there instead.
    init(
        _ host: Host, in folder: TemporaryFolder, programs: String,
        replacing changes: [String: String]
    ) throws {
        self.folder = folder
        self.programs = programs
        let names = try Route.programs()
        let port = try Connection.freePort()
        for name in names { ports[name] = host.isServer ? port : try Connection.freePort() }
        switch host {
        case .nginx: try setUpNginx(port: port, changes)
        case .lighttpd: try setUpLighttpd(port: port)
        case .inetd: try setUpInetd()
        case .socat: setUpSocat()
        }
    }

    /// The files of `infra/nginx` as they are, but for addresses and folders.
    private mutating func setUpNginx(port: UInt16, _ changes: [String: String]) throws {
        let example = "\(Route.repository)/infra/nginx"
        var server = try String(contentsOfFile: "\(example)/turnstone.conf", encoding: .utf8)
        for (place, here) in Array(changes) + [
            ("/etc/nginx/turnstone/", "\(example)/"), ("127.0.0.1:8080", "127.0.0.1:\(port)"),
            ("/usr/lib/turnstone/", "\(programs)/"),
            ("/etc/turnstone/", "\(folder.path)/"), ("/run/turnstone/", "\(folder.path)/"),
            ("/var/log/nginx/", "\(folder.path)/"),
        ] {
            guard server.contains(place) else { throw TestFailure("infra/nginx has no \(place)") }
            server = server.replacing(place, with: here)
        }
        try folder.write(server, to: "turnstone.conf")
        try folder.write(
            """
            \(getuid() == 0 ? "user root;" : "")
            daemon off; worker_processes 1; pid nginx.pid;
            events { worker_connections 64; }
            http {
                client_body_temp_path body; fastcgi_temp_path fastcgi;
                proxy_temp_path proxy; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
                include \(folder.path)/turnstone.conf;
            }
            """, to: "nginx.conf")
        let allowed = ports.keys.flatMap { ["-p", "\(programs)/\($0)"] }
        let socket = "\(folder.path)/fcgi.sock"
        commands = [
            ["env", "-i", "PATH=/usr/bin:/bin", "/usr/sbin/fcgiwrap", "-c", "2"] + allowed
                + ["-s", "unix:\(socket)"],
            ["nginx", "-p", folder.path, "-c", "\(folder.path)/nginx.conf", "-e", "error.log"],
        ]
        sign = socket
    }

    /// mod_cgi, with the routes of `infra/routes`.
    private mutating func setUpLighttpd(port: UInt16) throws {
        let rules = try Route.all().map { route in
            let pattern = route.pattern.replacing(/\{[a-z_]+\}/, with: "[^/?]+")
            return #""^\#(pattern)(\?|$)" => "/programs/\#(route.program)""#
        }
        try folder.write(
            """
            server.modules = ( "mod_rewrite", "mod_alias", "mod_setenv", "mod_cgi" )
            server.document-root = "\(folder.path)"
            server.bind = "127.0.0.1"
            server.port = \(port)
            server.errorlog = "\(folder.path)/error.log"
            server.max-request-size = 64
            server.http-parseopts = (
                "url-path-2f-decode" => "disable", "url-path-dotseg-remove" => "disable"
            )
            url.rewrite-once = (
                \(rules.joined(separator: ",\n    "))
            )
            alias.url = ( "/programs/" => "\(programs)/" )
            setenv.add-environment = ( "TURNSTONE_CONFIG" => "\(folder.path)/turnstone.env" )
            $HTTP["url"] =~ "^/programs/" { cgi.assign = ( "" => "" ) }
            """, to: "lighttpd.conf")
        commands = [["lighttpd", "-D", "-f", "\(folder.path)/lighttpd.conf"]]
    }

    private mutating func setUpInetd() throws {
        // Without a number, a service is off for ten minutes after 256 starts in one.
        let lines = ports.map { name, port in
            "127.0.0.1:\(port) stream tcp nowait.60000 \(NSUserName()) \(programs)/\(name) \(name)\n"
        }
        try folder.write(lines.joined(), to: "inetd.conf")
        commands = [["inetd", "-i", "-E", "\(folder.path)/inetd.conf"]]
    }

    private mutating func setUpSocat() {
        commands = ports.map { name, port in
            // `nofork`: the program gets the connection itself.
            [
                "socat", "TCP-LISTEN:\(port),bind=127.0.0.1,reuseaddr,fork",
                "EXEC:\(programs)/\(name),nofork",
            ]
        }
    }
}
