import Bytes
import CLinux
import Synchronization

/// The credentials that all clients of a bucket sign with, from the one source that the environment names.
///
/// Whoever needs them reads them: at first use, before they expire, and when a server refuses them; only one at a time. The
/// others go on with those that are there while these are valid, and else wait for the reader, which takes
/// ``ObjectStoreLimits/credentialsMilliseconds`` at most. A source that fails is asked again after a pause that doubles.
package final class CredentialsProvider: Sendable, CustomStringConvertible {
    private let chosen: ChosenSource
    private let certificatesPath: String?
    private let limits: ObjectStoreLimits
    private let clock: CredentialsClock
    private let onRenewalFailure: @Sendable (String) -> Void
    private let state: Mutex<State>

    private static let lookMilliseconds = 20

    /// Reads the environment or the file, where that is the source, and nobody else.
    init(
        _ chosen: ChosenSource, certificatesPath: String?, limits: ObjectStoreLimits,
        clock: CredentialsClock, onRenewalFailure: @escaping @Sendable (String) -> Void
    ) throws(ObjectStoreError) {
        self.chosen = chosen
        self.certificatesPath = certificatesPath
        self.limits = limits
        self.clock = clock
        self.onRenewalFailure = onRenewalFailure
        state = Mutex(State(limits))
        if chosen.source.isLocal { _ = try get(stop: StopSignal()) }
    }

    /// The credentials, or what they will be of.
    package var description: String {
        state.withLock { $0.held?.credentials.description } ?? "credentials of \(chosen.title)"
    }

    /// What to do about credentials that a server refuses, after these were read again.
    var remedy: String {
        let failure = state.withLock { $0.failure }
        guard !(chosen.source is EnvironmentSource) else {
            return "Renew them: the environment needs a restart"
        }
        return "Renew them: they are read again by themselves"
            + (failure.map { ". That failed: \($0)" } ?? "")
    }

    /// Credentials that have not expired, as far as anyone knows.
    ///
    /// - Throws: ``ObjectStoreError/Kind/noCredentials``, or ``ObjectStoreError/Kind/unavailable`` where the source may have
    ///   some later, as one that had some before.
    package func get(stop: StopSignal) throws(ObjectStoreError) -> Credentials {
        let begun = state.withLock { $0.failureCount }
        while true {
            let now = clock.bootMilliseconds()
            switch state.withLock({ $0.turn(now, hasFailed: $0.failureCount != begun) }) {
            case .use(let credentials): return credentials
            case .fail(let error): throw error
            case .wait: try wait(stop)
            case .read: if case .success(let credentials) = try read(stop) { return credentials }
            }
        }
    }

    /// Reads them again, because a server refused `refused`; a source that is no file not twice within
    /// ``ObjectStoreLimits/refusedCredentialsMilliseconds``.
    ///
    /// - Returns: others, or nil when there are none. What cannot be read now leaves those that are there.
    func renew(insteadOf refused: Credentials, stop: StopSignal) -> Credentials? {
        let pause = chosen.source.isLocal ? 0 : limits.refusedCredentialsMilliseconds
        var hasWaited = false
        do throws(ObjectStoreError) {
            while true {
                let now = clock.bootMilliseconds()
                let turn = state.withLock {
                    $0.turn(now, insteadOf: refused, pause, hasWaited: hasWaited)
                }
                switch turn {
                case .use(let credentials): return credentials
                case .fail: return nil
                case .wait:
                    hasWaited = true
                    try wait(stop)
                case .read:
                    guard case .success(let read) = try self.read(stop), read != refused else {
                        return nil
                    }
                    return read
                }
            }
        } catch { return nil }
    }

    private func wait(_ stop: StopSignal) throws(ObjectStoreError) {
        guard !stop.wait(milliseconds: Self.lookMilliseconds) else {
            throw ObjectStoreError(.stopped, "stopped")
        }
    }

    /// Reads the source, and tells the others.
    ///
    /// - Throws: only that the stop signal came.
    private func read(
        _ stop: StopSignal
    ) throws(ObjectStoreError) -> Result<Credentials, ObjectStoreError> {
        let session = SourceSession(limits, certificatesPath: certificatesPath, stop: stop)
        let result: Result<Credentials, ObjectStoreError>
        do throws(ObjectStoreError) {
            let credentials = try chosen.source.read(session)
            guard credentials.isPrintable else {
                throw .noCredentials(
                    "the credentials of \(credentials.source) contain blanks, control characters or non-ASCII characters"
                )
            }
            result = .success(credentials)
        } catch {
            guard error.kind != .stopped else {
                state.withLock { $0.isReading = false }
                throw error
            }
            result = .failure(chosen.error(error))
        }
        let now = clock.bootMilliseconds()
        let wall = clock.wallMilliseconds()
        let news = state.withLock { $0.finish(result, now, wallMilliseconds: wall, limits) }
        if let news { onRenewalFailure(news) }
        return result
    }
}

/// Times in milliseconds: the wall clock's, since 1970, by which sources say when credentials expire, and that of the boot
/// clock, which counts until then. Tests have others.
package struct CredentialsClock: Sendable {
    var wallMilliseconds: @Sendable () -> Int64 = { clinux_wall_ns() / 1_000_000 }
    var bootMilliseconds: @Sendable () -> Int = { Int(clinux_boot_ns() / 1_000_000) }

    package init() {}
}

/// What is known of the credentials, and who reads them. Times are the boot clock's.
private struct State {
    struct Held {
        var credentials: Credentials
        var renewsAt: Int
        var expiresAt: Int
    }

    enum Turn {
        case use(Credentials)
        /// To read the source, and to say how that ended.
        case read
        /// Another one reads.
        case wait
        case fail(ObjectStoreError)
    }

    var held: Held?
    var isReading = false
    /// Why the newest read gave none; nil: it gave some.
    var failure: ObjectStoreError?
    var failureCount = 0
    private var backoff: Backoff
    private var readsAt = Int.min
    private var refusalCountsAt = Int.min

    /// Credentials that say that they have expired are used this long all the same: the server knows the time better.
    private static let leastMilliseconds = 60_000

    init(_ limits: ObjectStoreLimits) {
        backoff = Backoff(
            firstMilliseconds: 1_000,
            millisecondsMax: limits.credentialsBackoffMillisecondsMax)
    }

    /// - Parameter hasFailed: whether a read has failed since the caller came.
    mutating func turn(_ now: Int, hasFailed: Bool) -> Turn {
        let isPause = hasFailed || now < readsAt
        if let held, now < held.renewsAt || (now < held.expiresAt && (isReading || isPause)) {
            return .use(held.credentials)
        }
        if isReading { return .wait }
        if isPause, let failure { return .fail(failure) }
        isReading = true
        return .read
    }

    mutating func turn(
        _ now: Int, insteadOf refused: Credentials, _ pause: Int, hasWaited: Bool
    ) -> Turn {
        // Another client was first.
        if let held, held.credentials != refused { return .use(held.credentials) }
        if isReading { return .wait }
        guard !hasWaited, now >= refusalCountsAt else {
            return .fail(failure ?? ObjectStoreError(.noCredentials, "read just now"))
        }
        refusalCountsAt = now + pause
        isReading = true
        return .read
    }

    /// - Returns: what to log: the first failure after a success.
    mutating func finish(
        _ result: Result<Credentials, ObjectStoreError>, _ now: Int, wallMilliseconds: Int64,
        _ limits: ObjectStoreLimits
    ) -> String? {
        isReading = false
        switch result {
        case .success(let credentials):
            failure = nil
            backoff.reset()
            readsAt = Int.min
            var held = Held(credentials: credentials, renewsAt: Int.max, expiresAt: Int.max)
            if let expiration = credentials.expiration {
                let left = max(Int(expiration - wallMilliseconds), Self.leastMilliseconds)
                held.expiresAt = now + left
                held.renewsAt =
                    held.expiresAt - min(limits.credentialsEarlyMilliseconds, left / 2)
            }
            self.held = held
            return nil
        case .failure(let error):
            let isFirst = failure == nil
            // What had some once may have some again.
            let isPassing = held != nil && error.kind == .noCredentials
            let failure =
                isPassing ? ObjectStoreError(.unavailable, error.description) : error
            self.failure = failure
            failureCount += 1
            readsAt = now + backoff.next()
            guard isFirst, let held else { return nil }
            let left = held.expiresAt == Int.max ? "" : Self.words(held.expiresAt - now)
            return "Cannot renew the bucket's credentials\(left): \(failure)"
        }
    }

    private static func words(_ milliseconds: Int) -> String {
        milliseconds > 0
            ? ", which expire in \(milliseconds / 1_000) s" : ", which have expired"
    }
}
