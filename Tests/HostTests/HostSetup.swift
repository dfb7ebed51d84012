import Foundation
import TestSupport

/// How a host is told to serve our programs: its configuration files, written into a folder, and the
/// commands that start it.
struct HostSetup {
    /// By program.
    let ports: [String: UInt16]
    let commands: [[String]]
    /// A file that the host makes when it is ready, beside listening.
    private var sign: String?

    var isComplete: Bool { sign.map(FileManager.default.fileExists) ?? true }

    init(_ host: Host, in folder: TemporaryFolder, programs: [String]) throws {
        if host.isServer {
            let port = try Connection.freePort()
            ports = Dictionary(uniqueKeysWithValues: programs.map { ($0, port) })
        } else {
            ports = try Dictionary(
                uniqueKeysWithValues: programs.map { ($0, try Connection.freePort()) })
        }
        switch host {
        case .nginx:
            commands = try nginx(in: folder, port: ports[programs[0]] ?? 0)
            sign = "\(folder.path)/fcgi.sock"
        case .lighttpd: commands = try lighttpd(in: folder, port: ports[programs[0]] ?? 0)
        case .inetd: commands = try inetd(in: folder, ports: ports)
        case .socat: commands = socat(ports: ports)
        }
    }
}

/// The files of `infra/nginx` as they are, but for addresses and folders.
private func nginx(in folder: TemporaryFolder, port: UInt16) throws -> [[String]] {
    let example = "\(Route.repository)/infra/nginx"
    var server = try String(contentsOfFile: "\(example)/turnstone.conf", encoding: .utf8)
    for (place, here) in [
        ("/etc/nginx/turnstone/", "\(example)/"), ("127.0.0.1:8080", "127.0.0.1:\(port)"),
        ("/usr/local/lib/turnstone/", "\(Programs.folder)/"),
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
    let wrapper = ["env", "-i", "PATH=/usr/bin:/bin", "/usr/sbin/fcgiwrap", "-c", "2"]
    let allowed = try Route.programs().flatMap { ["-p", Programs.path($0)] }
    return [
        wrapper + allowed + ["-s", "unix:\(folder.path)/fcgi.sock"],
        ["nginx", "-p", folder.path, "-c", "\(folder.path)/nginx.conf", "-e", "error.log"],
    ]
}

/// mod_cgi, with the routes of `infra/routes`.
private func lighttpd(in folder: TemporaryFolder, port: UInt16) throws -> [[String]] {
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
        server.http-parseopts = ( "url-path-2f-decode" => "disable", "url-path-dotseg-remove" => "disable" )
        url.rewrite-once = (
            \(rules.joined(separator: ",\n    "))
        )
        alias.url = ( "/programs/" => "\(Programs.folder)/" )
        setenv.add-environment = ( "TURNSTONE_CONFIG" => "\(folder.path)/turnstone.env" )
        $HTTP["url"] =~ "^/programs/" { cgi.assign = ( "" => "" ) }
        """, to: "lighttpd.conf")
    return [["lighttpd", "-D", "-f", "\(folder.path)/lighttpd.conf"]]
}

private func inetd(in folder: TemporaryFolder, ports: [String: UInt16]) throws -> [[String]] {
    let user = NSUserName()
    // Without a number, a service is off for ten minutes after 256 starts in one.
    let lines = ports.map { program, port in
        "127.0.0.1:\(port) stream tcp nowait.60000 \(user) \(Programs.path(program)) \(program)\n"
    }
    try folder.write(lines.joined(), to: "inetd.conf")
    return [["inetd", "-i", "-E", "\(folder.path)/inetd.conf"]]
}

private func socat(ports: [String: UInt16]) -> [[String]] {
    ports.map { program, port in
        // `nofork`: the program gets the connection itself.
        [
            "socat", "TCP-LISTEN:\(port),bind=127.0.0.1,reuseaddr,fork",
            "EXEC:\(Programs.path(program)),nofork",
        ]
    }
}
