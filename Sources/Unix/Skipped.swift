import Turnstone

/// Reports and counts the unreadable ones among many files, so that the work on the others goes on.
package struct Skipped {
    package private(set) var count = 0
    private let report: (Failure) -> Void
    private var files: Set<String> = []

    package init(_ report: @escaping (Failure) -> Void) {
        self.report = report
    }

    /// The names in a folder; none if it cannot be listed.
    package mutating func names(in folder: String) throws(Failure) -> [String] {
        var names: [String] = []
        try attempt { () throws(SystemError) in
            try Files.names(in: folder)
        } then: {
            names = $0
        }
        return names
    }

    /// Reads one file and passes the result to `work`. If the file cannot be read, it is recorded and `work`
    /// does not run.
    package mutating func attempt<Result>(
        _ read: () throws(SystemError) -> Result, then work: (Result) throws(Failure) -> Void
    ) throws(Failure) {
        let result: Result
        do throws(SystemError) { result = try read() } catch {
            guard error.errno.isFileSpecific || error.errno == .inputOutput else {
                throw error.failure
            }
            return record(error.failure)
        }
        try work(result)
    }

    /// Works on one file; if it turns out to be unreadable, it is recorded.
    package mutating func attempt(_ work: () throws(Failure) -> Void) throws(Failure) {
        do throws(Failure) { try work() } catch {
            guard error.file != nil else { throw error }
            record(error)
        }
    }

    /// Counts and reports a file. Further failures of the same file are ignored.
    package mutating func record(_ failure: Failure) {
        if let file = failure.file {
            guard files.insert(file).inserted else { return }
            UnusableFiles.record(file, failure.cause)
        }
        count += 1
        report(failure)
    }
}

extension Failure {
    /// Whether one file cannot be used until somebody acts, while other files may be fine. Disk errors do not
    /// count.
    package var isFileSpecific: Bool { file != nil && disposition == .broken }
}
