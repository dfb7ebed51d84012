/// The largest bodies of requests, in bytes. Hosts in front have the same limits (`infra/nginx`).
package enum BodyLimit {
    /// Of most programs.
    package static let usual = 64 * 1024
    /// Of messages to many users: the largest that any program accepts.
    package static let message = 1024 * 1024
}
