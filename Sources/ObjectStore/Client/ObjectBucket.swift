/// A store's place in a bucket, and all that its clients share: the address, the credentials, the clock, the counters,
/// and the pauses while it fails.
package final class ObjectBucket: Sendable {
    package let url: ObjectStoreURL
    package let access: ObjectStoreAccess
    package let limits: ObjectStoreLimits
    package let clock: SigningClock
    package let counters: ObjectStoreCounters
    private let breakers: CircuitBreakers
    let patience: AnswerPatience

    package init(
        _ url: ObjectStoreURL, access: ObjectStoreAccess,
        limits: ObjectStoreLimits = ObjectStoreLimits(), clock: SigningClock = SigningClock(),
        counters: ObjectStoreCounters = ObjectStoreCounters()
    ) {
        self.url = url
        self.access = access
        self.limits = limits
        self.clock = clock
        self.counters = counters
        breakers = CircuitBreakers(limits)
        patience = AnswerPatience(limits)
    }

    /// A bucket by its address and the variables of the environment. Nothing is asked of the server yet, nor of a source of
    /// credentials that is not this machine's environment or a file.
    ///
    /// - Parameter onRenewalFailure: is called with what to log, once for each time that credentials cannot be renewed.
    package convenience init(
        _ url: String, environment: ProcessEnvironment = .process,
        limits: ObjectStoreLimits = ObjectStoreLimits(),
        onRenewalFailure: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(ObjectStoreError) {
        let address = try ObjectStoreURL(url)
        let access = try ObjectStoreAccess(
            environment, limits: limits, onRenewalFailure: onRenewalFailure)
        self.init(address, access: access, limits: limits)
    }

    /// A client for one thread. The first of a process loads libcurl.
    ///
    /// - Parameter onMoved: is called with how many bytes of a body were sent or received, now and then.
    package func makeClient(
        stop: StopSignal = StopSignal(), onMoved: (@Sendable (Int) -> Void)? = nil
    ) throws(ObjectStoreError) -> ObjectClient {
        try ObjectClient(self, breakers, stop: stop, onMoved: onMoved)
    }

    /// The same bucket for short requests that are of no use when they come late: they are sent once, and are not held back
    /// when others fail.
    package func quick(milliseconds: Int) -> ObjectBucket {
        var limits = limits
        limits.connectMilliseconds = min(limits.connectMilliseconds, milliseconds * 2 / 3)
        limits.requestMilliseconds = min(limits.requestMilliseconds, milliseconds)
        limits.attemptCountMax = 1
        return ObjectBucket(url, access: access, limits: limits, clock: clock, counters: counters)
    }

    /// One that is not held back when another one's requests fail: for a race.
    func makeRacer(stop: StopSignal) throws(ObjectStoreError) -> ObjectClient {
        try ObjectClient(self, CircuitBreakers(limits), stop: stop)
    }
}
