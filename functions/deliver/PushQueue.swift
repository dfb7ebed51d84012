/// Deliveries in the order in which they are to be tried.
struct PushQueue {
    struct Place {
        let id: String
        let index: Int
    }

    private var places: [Place] = []
    private var start = 0

    var count: Int { places.count - start }

    mutating func append(_ place: Place) { places.append(place) }

    mutating func popFirst() -> Place? {
        guard start < places.count else { return nil }
        defer {
            start += 1
            if start > 1024, start * 2 > places.count {
                places.removeFirst(start)
                start = 0
            }
        }
        return places[start]
    }
}
