/// Why a trial does not go on.
enum TrialError: Error {
    /// The file system does not do what the programs need.
    case broken(String)
    /// Nothing is known of the file system: the disk is full, or we may not write there.
    case untried(String, isTemporary: Bool)
}
