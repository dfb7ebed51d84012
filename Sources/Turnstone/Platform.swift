/// The platform whose push service has a token.
package enum Platform: String, Sendable {
    case ios
    case android
}
