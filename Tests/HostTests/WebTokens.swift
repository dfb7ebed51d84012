import Foundation
import TestSupport
import Testing

/// Signs JSON Web Tokens with another library than ours: Debian's python3-jwt.
struct WebTokens {
    enum Algorithm: String, CaseIterable {
        case hs256 = "HS256"
        case rs256 = "RS256"
        case es256 = "ES256"
    }

    private let algorithm: Algorithm
    private let folder = TemporaryFolder()
    private let secret = "a secret that two libraries share"

    private static let python = "/usr/bin/python3"

    /// Whether the library and the program that makes the keys are there.
    static let isInstalled =
        (try? output(of: python, ["-c", "import jwt, cryptography"])) != nil
        && FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")

    init(_ algorithm: Algorithm) throws {
        self.algorithm = algorithm
        let kinds: [Algorithm: [String]] = [
            .rs256: ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
            .es256: ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
        ]
        guard let kind = kinds[algorithm] else { return }
        let key = "\(folder.path)/key.pem"
        _ = try Self.output(
            of: "/usr/bin/openssl", ["genpkey", "-algorithm"] + kind + ["-out", key])
        _ = try Self.output(
            of: "/usr/bin/openssl", ["pkey", "-in", key, "-pubout", "-out", publicKeyPath])
    }

    private var publicKeyPath: String { "\(folder.path)/public.pem" }

    /// The configuration with which programs accept these tokens.
    var configuration: String {
        algorithm == .hs256
            ? "JWT_SECRET='\(secret)'" : "JWT_PUBLIC_KEY_PATH='\(publicKeyPath)'"
    }

    /// A token for a user that is good for a while from now on, or was until a while ago.
    func token(for user: String, lifetime: Int = 3600) throws -> String {
        let script = """
            import jwt, sys, time
            user, lifetime, algorithm, secret, path = sys.argv[1:]
            key = secret if algorithm == "HS256" else open(path).read()
            now = int(time.time())
            claims = {"sub": user, "iat": now, "exp": now + int(lifetime)}
            print(jwt.encode(claims, key, algorithm=algorithm))
            """
        let words = [
            user, "\(lifetime)", algorithm.rawValue, secret, "\(folder.path)/key.pem",
        ]
        return try Self.output(of: Self.python, ["-c", script] + words)
            .trimmingCharacters(in: .newlines)
    }

    private static func output(of path: String, _ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw TestFailure("\(path) fails") }
        return String(decoding: text, as: UTF8.self)
    }
}
