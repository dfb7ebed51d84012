/// A queue whose front moves, without moving what is behind it.
struct Deque<Element> {
    private var elements: [Element?] = []
    private var start = 0

    var isEmpty: Bool { start == elements.count }
    var count: Int { elements.count - start }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    /// Puts back what was just taken; rarely used otherwise.
    mutating func prepend(_ element: Element) {
        if start > 0 {
            start -= 1
            elements[start] = element
        } else {
            elements.insert(element, at: 0)
        }
    }

    mutating func popFirst() -> Element? {
        guard start < elements.count, let element = elements[start] else { return nil }
        elements[start] = nil
        start += 1
        if start >= 1024 && start * 2 > elements.count || start == elements.count {
            elements.removeFirst(start)
            start = 0
        }
        return element
    }
}
