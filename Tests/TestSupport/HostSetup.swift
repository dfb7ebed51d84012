import Foundation

/// How a host is told to serve our programs: its configuration files, written into a folder, and the
/// commands that start it.
struct HostSetup {
    /// By program.
    private(set) var ports: [String: UInt16] = [:]
    private(set) var commands: [[String]] = []
    let folder: TemporaryFolder
    /// The folder with the programs.
    let programs: String
    private let changes: [String: String]
    private let workers: Int
    /// A file that the host makes when it is ready, beside listening.
    private var sign: String?

    var isComplete: Bool { sign.map(FileManager.default.fileExists) ?? true }

    /// - Parameters:
    ///   - changes: texts of a server's configuration, and their replacements.
    ///   - workers: how many programs fcgiwrap runs at a time.
    init(
        _ host: Host, in folder: TemporaryFolder, programs: String,
        replacing changes: [String: String], workers: Int
    ) throws {
        self.folder = folder
        self.programs = programs
        self.changes = changes
        self.workers = workers
        let port = try Connection.freePort()
        for name in try Route.programs() {
            ports[name] = host == .inetdWithoutFront ? try Connection.freePort() : port
        }
        switch host {
        case .nginx: try setUpNginx(port)
        case .lighttpd: try setUpLighttpd(port)
        case .apache: try setUpApache(port)
        case .inetd: try setUpInetd(port)
        case .inetdWithoutFront: try setUpInetdWithoutFront()
        case .socat: commands = [["sh", try example("inetd/socat", port)]]
        case .tcpserver: commands = [["sh", try example("inetd/tcpserver", port)]]
        case .socketActivate:
            commands = [
                [
                    "systemd-socket-activate", "--inetd", "-a", "-l", "127.0.0.1:\(port)",
                    "-E", "TURNSTONE_CONFIG", "\(programs)/front",
                ]
            ]
        }
    }

    /// Writes a file of `infra` with another port, other folders, and the changes that `here` names.
    ///
    /// - Returns: where it is now.
    private func example(
        _ file: String, _ port: UInt16, _ here: [(String, String)] = []
    ) throws -> String {
        var text = try String(contentsOfFile: "\(Self.examples)/\(file)", encoding: .utf8)
        for (place, here) in Array(changes) + here {
            guard text.contains(place) else { throw TestFailure("infra/\(file) has no \(place)") }
            text = text.replacing(place, with: here)
        }
        text = text.replacing("8080", with: "\(port)")
            .replacing("/usr/lib/turnstone", with: programs)
        let name = file.replacing("/", with: "-")
        try folder.write(text, to: name)
        return "\(folder.path)/\(name)"
    }

    private static let examples = "\(Route.repository)/infra"

    private mutating func setUpNginx(_ port: UInt16) throws {
        var here = [
            ("/etc/nginx/turnstone/", "\(Self.examples)/nginx/"),
            ("/etc/turnstone/", "\(folder.path)/"), ("/run/turnstone/", "\(folder.path)/"),
            ("/var/log/nginx/", "\(folder.path)/"),
            ("/usr/share/turnstone/page/", "\(Self.examples)/page/"),
            ("/usr/share/turnstone/openapi.json", "\(Route.repository)/functions/openapi.json"),
        ]
        // All callers have one address here.
        let rate = "rate=10r/s"
        if changes[rate] == nil { here.append((rate, "rate=10000r/s")) }
        let server = try example("nginx/turnstone.conf", port, here)
        try folder.write(
            """
            \(getuid() == 0 ? "user root;" : "")
            daemon off; worker_processes 1; pid nginx.pid;
            events { worker_connections 64; }
            http {
                client_body_temp_path body; fastcgi_temp_path fastcgi;
                proxy_temp_path proxy; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
                include \(server);
            }
            """, to: "nginx.conf")
        let allowed = ports.keys.flatMap { ["-p", "\(programs)/\($0)"] }
        let socket = "\(folder.path)/fcgi.sock"
        commands = [
            ["env", "-i", "PATH=/usr/bin:/bin", "/usr/sbin/fcgiwrap", "-c", "\(workers)"] + allowed
                + ["-s", "unix:\(socket)"],
            ["nginx", "-p", folder.path, "-c", "\(folder.path)/nginx.conf", "-e", "error.log"],
        ]
        sign = socket
    }

    private mutating func setUpLighttpd(_ port: UInt16) throws {
        let server = try example(
            "lighttpd/lighttpd.conf", port,
            [
                ("/etc/lighttpd/", "\(Self.examples)/lighttpd/"),
                ("/etc/turnstone/", "\(folder.path)/"), ("/run/", "\(folder.path)/"),
                ("/var/log/lighttpd/", "\(folder.path)/"),
                // Nobody here has the account.
                (#"server.username = "turnstone""#, ""), (#"server.groupname = "turnstone""#, ""),
            ])
        commands = [["lighttpd", "-D", "-f", server]]
    }

    private mutating func setUpApache(_ port: UInt16) throws {
        let server = try example(
            "apache/turnstone.conf", port,
            [
                ("/etc/apache2/turnstone/", "\(Self.examples)/apache/"),
                ("/etc/turnstone/", "\(folder.path)/"), ("/var/log/apache2/", "\(folder.path)/"),
            ])
        let modules = [
            "mpm_event", "authz_core", "cgid", "rewrite", "headers", "env", "reqtimeout",
        ]
        try folder.write(
            """
            ServerRoot \(folder.path)
            DefaultRuntimeDir \(folder.path)
            PidFile \(folder.path)/apache.pid
            ErrorLog \(folder.path)/error.log
            ServerName localhost
            \(modules.map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }
                .joined(separator: "\n"))
            Include \(server)
            """, to: "apache2.conf")
        commands = [
            Disguise.words + ["apache2", "-D", "FOREGROUND", "-f", "\(folder.path)/apache2.conf"]
        ]
    }

    private mutating func setUpInetd(_ port: UInt16) throws {
        let table = try example("inetd/inetd.conf", port, [(" turnstone ", " \(NSUserName()) ")])
        commands = [["inetd", "-i", "-E", table]]
    }

    private mutating func setUpInetdWithoutFront() throws {
        let lines = ports.map { name, port in
            "127.0.0.1:\(port) stream tcp nowait.60000 \(NSUserName()) \(programs)/\(name) \(name)\n"
        }
        try folder.write(lines.joined(), to: "inetd.conf")
        commands = [["inetd", "-i", "-E", "\(folder.path)/inetd.conf"]]
    }
}
