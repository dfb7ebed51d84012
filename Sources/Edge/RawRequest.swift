/// A request as it was read, before a route was found for it.
struct RawRequest {
    var method = ""
    /// Path and query as sent.
    var target = ""
    var headers = Headers()
    var body = Body.bytes([])
    /// Whether it was written by hand at a shell.
    var isByHand = false
}
