/// A parser under test.
///
/// Gets any bytes, and returns what is wrong with what came of them; `nil` where nothing is. A crash is wrong
/// in any case.
typealias Parser = @Sendable ([UInt8]) -> String?

/// The parsers by the names of their folders in the corpus.
let parsers: [(name: String, parser: Parser)] = [
    ("json", json), ("cgi", cgi), ("http", http), ("event", event), ("ogs", ogs), ("http2", http2),
    ("env", environmentFile), ("p8", keyFile),
]
