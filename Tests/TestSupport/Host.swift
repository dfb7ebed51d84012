import Foundation

/// A host, which starts our programs when a request arrives. Each is set up as its folder of `infra` says.
package enum Host: String, CaseIterable {
    /// nginx and fcgiwrap.
    case nginx
    /// lighttpd with mod_cgi.
    case lighttpd
    /// Apache with mod_cgid.
    case apache
    /// openbsd-inetd, with one line for `front`.
    case inetd
    /// openbsd-inetd, with a line for each program.
    case inetdWithoutFront
    /// socat, which hands connections over as an inetd does.
    case socat
    /// ucspi-tcp's.
    case tcpserver
    /// systemd's way to accept connections for a program, without the rest of systemd.
    case socketActivate

    /// The programs that have to be installed for it.
    package var programs: [String] {
        switch self {
        case .nginx: ["/usr/sbin/nginx", "/usr/sbin/fcgiwrap"]
        case .lighttpd: ["/usr/sbin/lighttpd"]
        case .apache: ["/usr/sbin/apache2", "/usr/bin/unshare"]
        case .inetd, .inetdWithoutFront: ["/usr/sbin/inetd"]
        case .socat: ["/usr/bin/socat"]
        case .tcpserver: ["/usr/bin/tcpserver"]
        case .socketActivate: ["/usr/bin/systemd-socket-activate"]
        }
    }

    /// Why it cannot be tested on this machine.
    package var obstacle: String? {
        let isThere = FileManager.default.isExecutableFile
        if let missing = programs.first(where: { !isThere($0) }) {
            return "\(missing) is not installed"
        }
        return self == .apache && !Disguise.isPossible
            ? "Apache does not serve as root, and user namespaces are not allowed here" : nil
    }

    /// Whether it reads requests itself, and passes on only those that it finds valid.
    package var isServer: Bool { [.nginx, .lighttpd, .apache].contains(self) }

    /// Those that can be tested on this machine.
    package static let testable = allCases.filter { $0.obstacle == nil }
    package static let servers = testable.filter(\.isServer)
}
