/// The newest of some notifications, by what they share with others.
package struct NewestStates {
    private var orders: [String: Series.Order] = [:]

    package init() {}

    package mutating func insert(_ series: Series) {
        for key in series.keys { orders[key] = max(orders[key] ?? series.order, series.order) }
    }

    /// Whether one of them replaces a notification.
    package func replaces(_ series: Series) -> Bool {
        series.keys.contains { key in orders[key].map { $0 > series.order } ?? false }
    }
}
