/// What clients ask of a bucket.
package enum ObjectOperation: String, CaseIterable, Sendable {
    case get, put, list, delete
}
