/// What clients ask of a bucket.
package enum ObjectOperation: String, CaseIterable, Sendable {
    case get, put, list, delete

    /// Its place in ``allCases``.
    var index: Int {
        switch self {
        case .get: 0
        case .put: 1
        case .list: 2
        case .delete: 3
        }
    }
}
