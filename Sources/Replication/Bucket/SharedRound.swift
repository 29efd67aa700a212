import Synchronization

/// Numbers that several threads take, one after the other, until there are no more or one has failed.
final class SharedRound<Failure: Error>: Sendable {
    private let count: Int
    private let next = Atomic(0)
    private let failure = Mutex<Failure?>(nil)

    init(count: Int) { self.count = count }

    /// The first error; nil while there is none.
    var error: Failure? { failure.withLock { $0 } }

    /// Takes numbers until there are no more.
    func run(on bucket: any Bucket, _ body: (Int, any Bucket) throws(Failure) -> Void) {
        while error == nil {
            let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
            guard index < count else { return }
            do throws(Failure) {
                try body(index, bucket)
            } catch {
                failure.withLock { $0 = $0 ?? error }
            }
        }
    }
}
