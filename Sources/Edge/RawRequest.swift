/// A request as it was read, before a route was found for it.
struct RawRequest {
    var method = ""
    /// Path and query as sent.
    var target = ""
    var headers = Headers()
    var body = Body.bytes([])
    /// The caller's network address, as the host states it; `nil` if it does not.
    var address: String?
    /// Whether it was written by hand at a shell.
    var isByHand = false
}
