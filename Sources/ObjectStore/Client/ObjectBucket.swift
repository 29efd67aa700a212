/// A store's place in a bucket, and all that its clients share: the address, the credentials, the clock, the counters, and the pauses while it fails.
package final class ObjectBucket: Sendable {
    package let url: ObjectStoreURL
    package let access: ObjectStoreAccess
    package let limits: ObjectStoreLimits
    package let clock: SigningClock
    package let counters = ObjectStoreCounters()
    /// By operation.
    private let breakers: [CircuitBreaker]

    package init(
        _ url: ObjectStoreURL, access: ObjectStoreAccess,
        limits: ObjectStoreLimits = ObjectStoreLimits(), clock: SigningClock = SigningClock()
    ) {
        self.url = url
        self.access = access
        self.limits = limits
        self.clock = clock
        breakers = ObjectOperation.allCases.map { _ in CircuitBreaker(limits) }
    }

    /// A bucket by its address and the variables of the environment. Nothing is asked of the server yet.
    package convenience init(
        _ url: String, environment: ProcessEnvironment = .process,
        limits: ObjectStoreLimits = ObjectStoreLimits()
    ) throws(ObjectStoreError) {
        self.init(
            try ObjectStoreURL(url), access: try ObjectStoreAccess(environment), limits: limits)
    }

    func breaker(of operation: ObjectOperation) -> CircuitBreaker { breakers[operation.index] }

    /// A client for one thread. The first of a process loads libcurl.
    package func makeClient(stop: StopSignal = StopSignal()) throws(ObjectStoreError)
        -> ObjectClient
    {
        try ObjectClient(self, stop: stop)
    }
}
