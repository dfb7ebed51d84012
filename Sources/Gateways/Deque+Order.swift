import DequeModule

extension Deque {
    /// Inserts an element before all those that it precedes. The others are in that order already.
    @inlinable public mutating func insert(
        _ element: Element, before precedes: (Element, Element) -> Bool
    ) {
        guard let last, precedes(element, last) else { return append(element) }
        var (low, high) = (0, count - 1)
        while low < high {
            let middle = (low + high) / 2
            if precedes(element, self[middle]) { high = middle } else { low = middle + 1 }
        }
        insert(element, at: low)
    }
}
