// swift-tools-version: 6.2
//
// Adding a program: a folder under functions/ with main.swift, README.md, fixtures/ and openapi.json, one
// line in `endpoints` or `programs`, and its routes in infra/routes (then infra/make-routes and
// infra/make-openapi).

// TURNSTONE_EMBEDDED, the folder of the toolchain's static libraries for Embedded Swift, leaves the endpoint
// programs alone in the package and compiles them, in release, as Embedded Swift: `register` starts in 1.3
// times what static C takes, where ordinary Swift takes 1.9. The rest, and every debug build, is ordinary
// Swift. `infra/build` makes both.

import PackageDescription

let release = BuildSettingCondition.when(configuration: .release)
let embeddedLibraries = Context.environment["TURNSTONE_EMBEDDED"]
let isEmbedded = embeddedLibraries != nil

// TURNSTONE_FUZZ, the toolchain's libFuzzer without its main function, adds the program `fuzz` and leaves the
// tests out, with which it shares sources. `infra/fuzz/run` sets it.
let fuzzer = Context.environment["TURNSTONE_FUZZ"]

// TURNSTONE_ONLY, names of programs with blanks between them, leaves out everything that these do not need.
// `infra/build --only` sets it.
let only = Context.environment["TURNSTONE_ONLY"]?.split(separator: " ").map(String.init)

// TURNSTONE_EXCEPT, names of programs with white space between them, leaves out these and the tests.
// `infra/build` sets it to what it builds as Embedded Swift.
let except = (Context.environment["TURNSTONE_EXCEPT"] ?? "").split(whereSeparator: \.isWhitespace)
    .map(String.init)

// An Embedded program compiles everything that it calls again, from the bodies in its modules.
// `@export(interface)` keeps a function's body in its module, so that the programs build in a third of the
// time. It is for functions of modules that endpoints link which are long and neither generic nor hot.
// `-function-sections` lets the linker leave out those that a program does not call: `register` has 1.8 MB
// instead of 4.1.

/// The toolchain has no static library for Embedded Swift, hence `-no-static-stdlib`.
let compilation: [SwiftSetting] =
    isEmbedded
    ? [
        .enableExperimentalFeature("Embedded", release),
        .unsafeFlags(
            ["-wmo", "-no-static-stdlib", "-Xfrontend", "-function-sections"], release),
    ] : []

/// Fully static and stripped: a dynamic Swift program takes 7 times the start-up of static C.
let staticExecutable: [LinkerSetting] =
    if let embeddedLibraries {
        [
            .unsafeFlags(
                ["-Xclang-linker", "-static", "-Xlinker", "-s", "-L", embeddedLibraries], release),
            .linkedLibrary("swiftUnicodeDataTables", release),
            .linkedLibrary("m", release),  // a Dictionary rounds
        ]
    } else {
        [.unsafeFlags(["-static-executable", "-Xlinker", "-s"], release)]
    }

/// libcurl has no usable static form in Debian (its Kerberos has none), so what polls OGS loads it.
let dynamicLibraries: [LinkerSetting] = [.unsafeFlags(["-Xlinker", "-s"], release)]

func door(_ name: String, _ package: String, _ debian: String) -> Target {
    .systemLibrary(name: name, pkgConfig: package, providers: [.apt([debian])])
}

func module(
    _ name: String, on dependencies: [Target.Dependency], exclude: [String] = []
) -> Target {
    .target(
        name: name, dependencies: dependencies + (name == "Turnstone" ? [] : ["Turnstone"]),
        exclude: exclude, swiftSettings: compilation)
}

func program(
    _ name: String, links modules: [Target.Dependency],
    _ linking: [LinkerSetting] = staticExecutable, exclude: [String] = ["openapi.json"]
) -> Target {
    .executableTarget(
        name: name, dependencies: ["Edge", "Turnstone"] + modules, path: "functions/\(name)",
        exclude: ["README.md", "fixtures"] + exclude, swiftSettings: compilation,
        linkerSettings: linking)
}

let doors: [Target] = [
    .systemLibrary(name: "CUnix"),
    door("COpenSSL", "openssl", "libssl-dev"),
    door("CNGHTTP2", "libnghttp2", "libnghttp2-dev"),
    door("CCurl", "libcurl", "libcurl4-openssl-dev"),
    door("CZlib", "zlib", "zlib1g-dev"),
]

/// What endpoint programs link: it stays within what Embedded Swift compiles.
let foundation: [Target] = [
    module("Turnstone", on: []),
    .target(name: "CStart"),
    module("Unix", on: ["CUnix", "CStart"]),
    module("JSON", on: ["CUnix"]),
    module("Crypto", on: ["COpenSSL"]),
    // A module of its own: programs that need no signatures have a seventh of the size without them.
    module("Signatures", on: ["Crypto", "COpenSSL"]),
    module("JWT", on: ["Signatures", "Crypto", "JSON", "Unix"]),
    module("Edge", on: ["Unix", "JSON", "Crypto"]),
    module("Documents", on: ["Unix", "JSON", "Crypto"]),
    module("Store", on: ["Documents", "Unix", "JSON", "Crypto"], exclude: ["FORMAT.md"]),
    module("Callers", on: ["Edge", "JWT", "Store"]),
    module("Spool", on: ["Unix", "JSON", "Crypto"], exclude: ["FORMAT.md"]),
    // Where the documents and the queues meet.
    module("Queueing", on: ["Edge", "Store", "Spool"]),
    // What configures the push services, apart from what speaks to them: `health` checks it, too.
    module("PushServices", on: ["Signatures", "Crypto", "JSON", "Unix"]),
    // Shared by all processes in the state folder; `push-config` shows the public half of the key.
    module(
        "WebPushCredentials",
        on: ["Documents", "Store", "PushServices", "Signatures", "Crypto", "Unix"]),
    module("Texts", on: ["JSON", "Unix"]),
    module("Profiles", on: ["Edge", "Documents", "Store", "Unix", "JSON", "Crypto"]),
    // Pure: who is meant by a filter.
    module("Audiences", on: []),
    module(
        "Messages",
        on: [
            "Audiences", "Edge", "Documents", "Store", "Spool", "Queueing", "Unix", "JSON",
            "Crypto",
        ]),
    module("Erasing", on: ["Edge", "Documents", "Messages", "Store", "Spool", "Queueing"]),
    // What is wrong with an installation: `health` and `status` say the same.
    module(
        "Health",
        on: [
            "Edge", "Messages", "Store", "Spool", "Queueing", "Texts", "PushServices",
            "WebPushCredentials",
            "JWT", "Unix",
        ]),
    // OneSignal's requests and answers, translated.
    module(
        "OneSignal",
        on: [
            "Audiences", "Messages", "Profiles", "Edge", "Documents", "Store", "Spool", "Queueing",
            "Unix", "JSON", "Crypto",
        ]),
]

let endpoints: [Target] = [
    program("front", links: [], exclude: []),
    program("page", links: ["Unix"], exclude: []),
    program("health", links: ["Health", "Store"]),
    program("status", links: ["Health", "Documents", "Store", "Spool", "Queueing", "Unix"]),
    program("generate-api-key", links: ["Store", "Crypto"]),
    program("rotate-api-key", links: ["Store"]),
    program("api-keys", links: ["Store"]),
    program("register", links: ["Store"]),
    program("users-by-token", links: ["Documents", "Store"]),
    program("devices-register", links: ["Store", "Callers", "Profiles"]),
    program("devices-list", links: ["Documents", "Store", "Callers"]),
    program("devices-unregister", links: ["Store", "Callers"]),
    program("push-register", links: ["Store", "Spool", "Queueing", "Callers", "Profiles"]),
    program("push-invalidate", links: ["Store", "Callers"]),
    program("push-status", links: ["Documents", "Store", "Callers"]),
    program("live-activity", links: ["Documents", "Store", "Spool", "Queueing", "JSON", "Unix"]),
    program(
        "notifications",
        links: ["Callers", "Messages", "Documents", "Store", "Spool", "Queueing", "Unix"]),
    program("badge", links: ["Callers", "Messages", "Documents", "Store", "Queueing"]),
    program("preferences", links: ["Callers", "Documents", "Store", "Spool", "Queueing", "Unix"]),
    program(
        "push-config", links: ["Store", "PushServices", "WebPushCredentials", "Signatures"]),
    program("profile", links: ["Callers", "Profiles", "Documents", "Store"]),
    program("segments", links: ["Audiences", "Store"]),
    program("users", links: ["Erasing", "Profiles", "Documents", "Store"]),
    program("notify", links: ["Messages", "Store", "Queueing"]),
    program(
        "events", links: ["Messages", "Store", "Queueing", "Unix"],
        exclude: ["openapi.json", "templates"]),
    program("onesignal-notifications", links: ["OneSignal", "Store"]),
    program("onesignal-users", links: ["OneSignal", "Erasing", "Documents", "Store"]),
    program("onesignal-subscriptions", links: ["OneSignal", "Store"]),
    program("onesignal-segments", links: ["OneSignal"]),
    program("onesignal-players", links: ["OneSignal"]),
    program("onesignal-apps", links: ["OneSignal"]),
]

/// What runs the programs where a host speaks a protocol of its own.
let runners: [Target] = [
    .executableTarget(
        name: "bootstrap", dependencies: ["Edge", "JSON", "Unix", "Turnstone"],
        path: "infra/lambda/bootstrap", swiftSettings: compilation,
        linkerSettings: staticExecutable)
]

let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")

let modules: [Target] = [
    module("HTTP", on: ["CCurl", "Unix"]),
    module("HTTP2", on: ["CNGHTTP2", "COpenSSL", "Unix", deque]),
    // The other side, which errs on purpose, for the simulator and the tests.
    module("HTTP2Server", on: ["HTTP2", "CNGHTTP2", "COpenSSL", "Unix"]),
    module("OGS", on: ["HTTP", "Unix", "JSON"]),
    // What the senders to the push services have in common.
    module("Gateways", on: ["Unix", deque]),
    module(
        "APNs",
        on: ["Gateways", "PushServices", "HTTP2", "Signatures", "JSON", "Unix"]),
    module(
        "FCM", on: ["Gateways", "PushServices", "HTTP2", "JSON", "Unix", "CZlib"]),
    module(
        "WebPush",
        on: [
            "Gateways", "PushServices", "Crypto", "JSON", "Unix", "CUnix", "CCurl", "COpenSSL",
            deque,
        ]),
    module(
        "Turns",
        on: ["Documents", "Store", "Spool", "Queueing", "Texts", "OGS", "Edge", "Crypto", "Unix"]),
    module("Credentials", on: ["Documents", "Store", "APNs", "FCM", "PushServices"]),
    // What empties a queue, apart from what speaks to its push service.
    module(
        "Drain",
        on: [
            "Edge", "Gateways", "Messages", "Documents", "Store", "Spool", "Queueing", "Texts",
            "PushServices",
            "Crypto", "JSON", "Unix", deque,
        ]),
]

let programs: [Target] = [
    program("check", links: ["Store", "Queueing", "Turns"], dynamicLibraries),
    program("diagnostics", links: ["Documents", "Store", "Queueing", "Turns"], dynamicLibraries),
    program(
        "check-turns", links: ["Documents", "Store", "Spool", "Queueing", "Turns", "OGS", "Unix"],
        dynamicLibraries,
        exclude: ["texts"]),
    program(
        "deliver",
        links: [
            "Drain", "Store", "Spool", "APNs", "FCM", "PushServices", "Credentials", "JSON", "Unix",
        ],
        exclude: []),
    // A program of its own, because libcurl makes a program's start four times as long.
    program(
        "deliver-web",
        links: [
            "Drain", "Store", "Spool", "WebPush", "WebPushCredentials", "PushServices",
            "Signatures", "Unix",
        ], dynamicLibraries, exclude: []),
    program("signup", links: ["Documents", "Store", "OGS", "Crypto", "Unix"], dynamicLibraries),
    // It tries a file system, and links nothing that sends.
    .executableTarget(
        name: "storage-test", dependencies: ["Edge", "Store", "Unix", "Turnstone"],
        path: "functions/storage-test", exclude: ["README.md", "fixtures"],
        swiftSettings: compilation,
        linkerSettings: staticExecutable),
    program(
        "channels",
        links: [
            "Documents", "Store", "Spool", "Queueing", "APNs", "PushServices", "Credentials",
            "Unix",
        ]),
]

/// Stands in for OGS and the push services on loopback; nothing links it.
let simulator: [Target] = [
    .executableTarget(
        name: "simulator",
        dependencies: [
            "HTTP2", "HTTP2Server", "Signatures", "Crypto", "JSON", "Unix", "Turnstone",
            "COpenSSL", "CZlib",
            .product(name: "ArgumentParser", package: "swift-argument-parser"),
        ],
        path: "Sources/Simulator", exclude: ["README.md"])
]

/// What infra/bench measures with; nothing ships it.
let bench: [Target] = [
    .executableTarget(
        name: "bench-tool",
        dependencies: [
            "Documents", "Store", "Spool", "HTTP", "JSON", "Crypto", "Unix", "Turnstone",
        ],
        path: "infra/bench/tool", linkerSettings: dynamicLibraries)
]

func tests(_ module: String, and more: [Target.Dependency] = []) -> Target {
    .testTarget(
        name: "\(module)Tests", dependencies: [.byName(name: module), "Turnstone"] + more)
}

let checks: [Target] = [
    // The JSON reader is compared with it.
    .systemLibrary(name: "CJansson", path: "Tests/CJansson"),
    // More threads for all tests.
    .target(name: "CTestThreads", path: "Tests/CTestThreads"),
    .target(
        name: "TestSupport",
        dependencies: ["CTestThreads", "Unix", "CUnix", "Crypto", "JSON", "Turnstone"],
        path: "Tests/TestSupport"),
    .testTarget(name: "TurnstoneTests", dependencies: ["TestSupport", "Turnstone", "JSON"]),
    .testTarget(
        name: "ProgramTests",
        dependencies: [
            "TestSupport", "Signatures", "Spool", "Store", "Documents", "JSON", "Crypto", "Unix",
            "CUnix", "Turnstone",
        ]),
    .testTarget(
        name: "MainJobTests",
        dependencies: [
            "TestSupport", "Store", "Documents", "Spool", "Crypto", "JSON", "Turnstone", "Unix",
        ]),
    .testTarget(
        name: "SimulatorTests",
        dependencies: [
            "TestSupport", "HTTP2", "Signatures", "Crypto", "JSON", "Unix", "Turnstone",
            "simulator",
        ]),
    .testTarget(
        name: "TortureTests",
        dependencies: [
            "TestSupport", "Store", "Documents", "JSON", "Crypto", "Unix", "Turnstone",
        ]),
    .testTarget(name: "SystemdTests", dependencies: ["TestSupport"]),
    .testTarget(name: "HostTests", dependencies: ["TestSupport", "JSON", "Turnstone"]),
    tests("Unix", and: ["TestSupport"]),
    tests("JSON", and: ["CJansson", "TestSupport"]),
    tests("Crypto"),
    tests("Signatures", and: ["TestSupport"]),
    tests("JWT", and: ["Signatures", "Crypto", "JSON", "TestSupport"]),
    tests("HTTP2", and: ["HTTP2Server", "TestSupport", "Unix"]),
    tests(
        "APNs",
        and: [
            "TestSupport", "Drain", "PushServices", "HTTP2", "HTTP2Server", "JSON", "Signatures",
            "Unix",
        ]),
    tests(
        "FCM",
        and: [
            "TestSupport", "Credentials", "Store", "PushServices", "HTTP2", "HTTP2Server", "JSON",
            "Signatures", "Unix",
        ]),
    tests(
        "WebPush",
        and: [
            "TestSupport", "WebPushCredentials", "Store", "PushServices", "JSON", "Signatures",
            "Crypto", "Unix",
        ]),
    tests("OGS", and: ["TestSupport", "JSON", "Unix"]),
    tests("Edge", and: ["JSON"]),
    tests("Texts", and: ["TestSupport", "JSON"]),
    tests("Callers", and: ["Edge", "JSON", "Crypto"]),
    tests("Store", and: ["TestSupport", "Documents", "Crypto", "JSON", "Unix"]),
    tests("Audiences", and: ["TestSupport", "Documents", "JSON"]),
    tests("OneSignal", and: ["Audiences", "Edge", "JSON", "Messages"]),
    tests("Messages", and: ["TestSupport", "Edge", "JSON"]),
    tests("Spool", and: ["TestSupport", "JSON", "Unix"]),
]

let fuzzed: [Target.Dependency] = [
    "Edge", "JSON", "OGS", "HTTP2", "Signatures", "APNs", "PushServices", "Turnstone", "Unix",
]

/// The parsers' fuzz targets: driven by libFuzzer, or once over the corpus as a test.
let fuzzing: Target =
    if let fuzzer {
        .executableTarget(
            name: "fuzz", dependencies: fuzzed, path: "infra/fuzz",
            exclude: ["corpus", "replay", "run", "keep", "structures"],
            sources: ["targets", "driver"],
            linkerSettings: [.unsafeFlags([fuzzer, "-use-ld=lld"]), .linkedLibrary("stdc++")])
    } else {
        .testTarget(
            name: "FuzzTests", dependencies: fuzzed, path: "infra/fuzz",
            exclude: ["corpus", "driver", "run", "keep", "structures"],
            sources: ["targets", "replay"])
    }

/// What an app links, on Apple's systems too: nothing of the server is in it.
let kit: [Target] = [
    .target(
        name: "TurnstoneKit",
        dependencies: [.target(name: "CCurl", condition: .when(platforms: [.linux]))]),
    .testTarget(
        name: "TurnstoneKitTests",
        dependencies: ["TurnstoneKit", "TestSupport", "Crypto", "JSON", "Turnstone"]),
]

let hasKit = !isEmbedded && fuzzer == nil && only == nil && except.isEmpty

let all =
    doors + foundation + endpoints + runners
    + (isEmbedded
        ? []
        : modules + programs + simulator + bench + (hasKit ? checks + kit : [])
            + [fuzzing])

extension Target.Dependency {
    var name: String {
        switch self {
        case .targetItem(let name, _), .byNameItem(let name, _): name
        case .productItem(let name, _, _, _): name
        @unknown default: fatalError("a dependency of a kind that this file does not use")
        }
    }
}

/// The names of programs and of everything that they need, products of other packages included.
func closure(of programs: [String], in targets: [Target]) -> Set<String> {
    var names: Set<String> = []
    var rest = programs
    while let name = rest.popLast() {
        guard names.insert(name).inserted else { continue }
        for target in targets where target.name == name { rest += target.dependencies.map(\.name) }
    }
    return names
}

let needed = only.map { closure(of: $0, in: all) }

let libraries: [(product: String, package: Package.Dependency)] = [
    (
        "ArgumentParser",
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2")
    ),
    ("DequeModule", .package(url: "https://github.com/apple/swift-collections", from: "1.6.0")),
]

let package = Package(
    name: "turnstone",
    // Of TurnstoneKit: nothing else is for Apple's systems.
    platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: hasKit ? [.library(name: "TurnstoneKit", targets: ["TurnstoneKit"])] : [],
    dependencies: isEmbedded
        ? [] : libraries.filter { needed?.contains($0.product) ?? true }.map(\.package),
    targets: all.filter { target in
        !except.contains(target.name) && needed?.contains(target.name) ?? true
    },
    swiftLanguageModes: [.v6]
)
