import CLinux
import Glibc
import Logging

/// The main thread's work: it accepts connections, hands each to the worker that has the fewest, and waits for the
/// signal to stop.
struct Acceptor: ~Copyable {
    /// How long accepting pauses when descriptors or connections have run out.
    private static let pauseMilliseconds = 100
    /// The pause while connections are closing, so that many leaving clients do not delay new ones.
    private static let pauseShortMilliseconds = 5

    private let poller: Poller
    private let signals: OwnedDescriptor
    private var listeners: [Listener]
    private var connectionCountMax: Int
    private let counters: DaemonCounters
    private let inboxes: [WorkerInbox]
    private var exhaustion: RateLimitedLog
    private var refusals: RateLimitedLog
    /// The users that have connected. They are kept: there are no more than users that may connect.
    private var peers: [UInt32: Peer] = [:]
    private var pausedUntil: Instant?
    /// Whether a connection was accepted since the last pause, which means that others are leaving.
    private var hasAccepted = false
    private let reload: () -> Admission?
    private let heartbeat: Heartbeat?
    private var nextBeat = Instant.now

    struct Heartbeat {
        let milliseconds: Int
        let run: () -> Void
    }

    struct Admission {
        let connectionCountMax: Int
        let allowedUserIDs: [UInt32]
    }

    struct Listener {
        /// Its descriptor, open while the acceptor is in use.
        let number: Int32
        let isDevice: Bool
        var policy: PeerPolicy
    }

    private enum Token {
        static let signal: UInt64 = 1
        static let failure: UInt64 = 2
        static let listener: UInt64 = 3
    }

    enum End {
        case signal(Int32)
        /// The daemon cannot continue.
        case failure
    }

    /// `signals` is a signalfd; `failure` ends accepting. `reload` is called for a SIGHUP and returns the new admission
    /// rules; nil: no change.
    init(
        _ listeners: [Listener], signals: consuming OwnedDescriptor,
        failure: borrowing WakeSignal, connectionCountMax: Int, _ context: DaemonContext,
        _ inboxes: [WorkerInbox], heartbeat: Heartbeat?, reload: @escaping () -> Admission?
    ) throws(SystemError) {
        let poller = try Poller()
        for (index, listener) in listeners.enumerated() {
            try poller.add(listener.number, token: Token.listener + UInt64(index), .input)
        }
        try poller.add(signals.number, token: Token.signal, .input)
        try poller.add(failure.number, token: Token.failure, .input)
        self.poller = poller
        self.signals = signals
        self.listeners = listeners
        self.connectionCountMax = connectionCountMax
        counters = context.counters
        self.inboxes = inboxes
        self.heartbeat = heartbeat
        self.reload = reload
        exhaustion = RateLimitedLog(context.log)
        refusals = RateLimitedLog(context.log)
    }

    mutating func run() -> End {
        while true {
            let count = poller.wait(milliseconds: doWhatIsDue(asOf: .now))
            for index in 0..<count {
                switch poller.event(index).token {
                case Token.signal:
                    if let number = takeStopSignal() { return .signal(number) }
                case Token.failure: return .failure
                case let token: acceptWaiting(listeners[Int(token - Token.listener)])
                }
            }
        }
    }

    /// - Returns: milliseconds until the next action is due; negative: none is.
    private mutating func doWhatIsDue(asOf now: Instant) -> Int {
        if let pausedUntil, now >= pausedUntil { resume() }
        var next = pausedUntil
        if let heartbeat {
            if now >= nextBeat {
                nextBeat = now.after(milliseconds: heartbeat.milliseconds)
                heartbeat.run()
            }
            next = min(next ?? nextBeat, nextBeat)
        }
        return next.map { max(0, $0.milliseconds(since: now)) + 1 } ?? -1
    }

    mutating func waitForSignal(milliseconds: Int) -> Bool {
        let count = poller.wait(milliseconds: milliseconds)
        for index in 0..<count where poller.event(index).token == Token.signal {
            if takeStopSignal() != nil { return true }
        }
        return false
    }

    /// The signal that arrived, if it is one to stop. SIGHUP reloads.
    private mutating func takeStopSignal() -> Int32? {
        let number = clinux_take_signal(signals.number)
        guard number == SIGHUP else { return number > 0 ? number : nil }
        if let admission = reload() {
            connectionCountMax = admission.connectionCountMax
            for index in listeners.indices {
                listeners[index].policy.allow(admission.allowedUserIDs)
            }
        }
        return nil
    }

    func close() {
        for listener in listeners { poller.remove(listener.number) }
    }

    private mutating func acceptWaiting(_ listener: Listener) {
        while true {
            guard counters.connectionCount < connectionCountMax else {
                // Clients in the backlog are accepted when others have left.
                let pause =
                    hasAccepted
                    ? Self.pauseShortMilliseconds
                    : Self.pauseMilliseconds
                return pauseAccepting(milliseconds: pause)
            }
            switch ListeningSocket.accept(from: listener.number) {
            case .connection(let socket): admit(socket, by: listener)
            case .none: return
            case .exhausted(let error):
                exhaustion.note(.warning, "Cannot accept connections, retrying: \(error)")
                return pauseAccepting(milliseconds: Self.pauseMilliseconds)
            }
        }
    }

    private mutating func admit(_ socket: consuming Socket, by listener: Listener) {
        let user = socket.peerUserID
        guard let user, listener.policy.allows(user) else {
            counters.refusedPeers.add()
            refusals.note(
                .warning,
                "User \(user.map { String($0) } ?? "unknown") may not connect (--allow-uid)")
            return
        }
        var least = 0
        for index in inboxes.indices
        where counters.workers[index].connections.now < counters.workers[least].connections.now {
            least = index
        }
        hasAccepted = true
        let peer = peers[user] ?? Peer(userID: user)
        peers[user] = peer
        counters.workers[least].connections.change(by: 1)
        inboxes[least].post(
            WorkerMessage(
                token: .worker,
                content: .accepted(socket.release(), peer, isDevice: listener.isDevice)))
    }

    /// Removes the listeners from the poller for a while, so that connections that cannot be accepted cost nothing.
    private mutating func pauseAccepting(milliseconds: Int) {
        listen(for: [])
        pausedUntil = Instant.now.after(milliseconds: milliseconds)
        hasAccepted = false
    }

    private mutating func resume() {
        listen(for: .input)
        pausedUntil = nil
    }

    private func listen(for interest: Poller.Interest) {
        for (index, listener) in listeners.enumerated() {
            poller.change(listener.number, token: Token.listener + UInt64(index), interest)
        }
    }
}
