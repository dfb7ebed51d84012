import DequeModule

/// The pushes of a sender from their submission to their verdict. Each gets exactly one verdict.
///
/// Its methods are inlinable: a sender handles tens of thousands of pushes a second, and generic code that is
/// not specialized would take a tenth of that. They are `public`, because the compiler specializes no code of
/// another module that is only `package`.
public struct PendingPushes<Request, Verdict> {
    public struct Item {
        public let request: Request
        public let push: AnyObject
        /// Its place in the order of submission.
        @usableFromInline let number: Int
        /// How many times it was sent again because the server had not processed it.
        public var retries = 0
        /// The number of the credential that it was last sent with, if the sender counts them.
        public var credential = 0

        @inlinable init(request: Request, push: AnyObject, number: Int) {
            self.request = request
            self.push = push
            self.number = number
        }
    }

    /// The pushes that have not been sent, in the order of their numbers.
    @usableFromInline var queue = Deque<Item>()
    @usableFromInline var submitted = 0
    /// The pushes in flight. A push's place here is the tag of its request.
    @usableFromInline var sent: [Item?] = []
    @usableFromInline var freePlaces: [Int] = []
    @usableFromInline var settled: [SettledPush<Verdict>] = []

    /// The number of times that a push is sent again.
    @usableFromInline static var maximumRetries: Int { 3 }

    @inlinable public init() {}

    /// The number of pushes that have not been sent.
    @inlinable public var waiting: Int { queue.count }

    /// The number of pushes that were sent and have no answer.
    @inlinable public var inFlight: Int { sent.count - freePlaces.count }

    /// The number of pushes without a verdict.
    @inlinable public var backlog: Int { queue.count + inFlight }

    @inlinable public mutating func append(_ request: Request, for push: AnyObject) {
        queue.append(Item(request: request, push: push, number: submitted))
        submitted += 1
    }

    /// Takes the next push that has not been sent.
    @inlinable public mutating func popFirst() -> Item? { queue.popFirst() }

    /// Puts a push back that could not be sent, to its place in the order of submission.
    @inlinable public mutating func putBack(_ item: Item) {
        queue.insert(item) { $0.number < $1.number }
    }

    /// The tag for the request of the next push that is sent.
    @inlinable public var nextTag: Int { freePlaces.last ?? sent.count }

    /// Keeps a push that was sent with ``nextTag`` until its answer.
    @inlinable public mutating func keepSent(_ item: Item) {
        if let place = freePlaces.popLast() { sent[place] = item } else { sent.append(item) }
    }

    /// Takes a push that was sent, because its request has an outcome.
    @inlinable public mutating func takeSent(_ tag: Int) -> Item {
        guard let item = sent[tag] else { preconditionFailure("an event without a request") }
        sent[tag] = nil
        freePlaces.append(tag)
        return item
    }

    /// Puts a push that was certainly not processed back to its place in the queue, at most three times. After
    /// that the push gets `verdict`.
    @inlinable public mutating func sendAgain(_ item: Item, orElse verdict: Verdict) {
        guard item.retries < Self.maximumRetries else { return settle(item, verdict) }
        var item = item
        item.retries += 1
        putBack(item)
    }

    @inlinable public mutating func settle(_ item: Item, _ verdict: Verdict) {
        settled.append(SettledPush(push: item.push, verdict: verdict))
    }

    /// Gives each push that has not been sent this verdict.
    @inlinable public mutating func settleUnsent(_ verdict: Verdict) {
        while let item = queue.popFirst() { settle(item, verdict) }
    }

    /// Returns the pushes that got their verdict since the last call.
    @inlinable public mutating func takeSettled() -> [SettledPush<Verdict>] {
        defer { settled = [] }
        return settled
    }
}
