import BlobStore
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
    private static let reservedParts = 8

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
        fileprivate var pausedUntil: Instant?
        /// Whether a connection was accepted since the last pause, which means that others are leaving.
        fileprivate var hasAccepted = false

        init(number: Int32, isDevice: Bool, policy: PeerPolicy) {
            self.number = number
            self.isDevice = isDevice
            self.policy = policy
        }
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
                case let token: acceptWaiting(Int(token - Token.listener))
                }
            }
        }
    }

    /// - Returns: milliseconds until the next action is due; negative: none is.
    private mutating func doWhatIsDue(asOf now: Instant) -> Int {
        var next: Instant?
        for index in listeners.indices {
            guard let end = listeners[index].pausedUntil else { continue }
            if now >= end {
                resume(index)
            } else {
                next = min(next ?? end, end)
            }
        }
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

    private mutating func acceptWaiting(_ index: Int) {
        while true {
            guard mayAccept(isDevice: listeners[index].isDevice) else {
                // Clients in the backlog are accepted when others have left.
                let pause =
                    listeners[index].hasAccepted
                    ? Self.pauseShortMilliseconds
                    : Self.pauseMilliseconds
                return pauseAccepting(index, milliseconds: pause)
            }
            switch ListeningSocket.accept(from: listeners[index].number) {
            case .connection(let socket): admit(socket, by: index)
            case .none: return
            case .exhausted(let error):
                exhaustion.note(.warning, "Cannot accept connections, retrying: \(error)")
                return pauseAccepting(index, milliseconds: Self.pauseMilliseconds)
            }
        }
    }

    /// Whether another connection of a socket is within `--max-connections`. If there are two sockets, each keeps a
    /// share that the other one cannot use.
    private func mayAccept(isDevice: Bool) -> Bool {
        let (all, devices) = (counters.connectionCount, counters.deviceConnectionCount)
        let share =
            listeners.count == 1
            ? 0 : Self.reservedConnectionCount(connectionCountMax: connectionCountMax)
        return all < connectionCountMax
            && (isDevice ? devices : all - devices) < connectionCountMax - share
    }

    /// The connections that each of two sockets can have although the other one has as many as it may.
    static func reservedConnectionCount(connectionCountMax: Int) -> Int {
        connectionCountMax < 2 ? 0 : max(1, connectionCountMax / reservedParts)
    }

    private mutating func admit(_ socket: consuming Socket, by index: Int) {
        let user = socket.peerUserID
        guard let user, listeners[index].policy.allows(user) else {
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
        listeners[index].hasAccepted = true
        let isDevice = listeners[index].isDevice
        let peer = peers[user] ?? Peer(userID: user)
        peers[user] = peer
        counters.workers[least].countConnection(isDevice: isDevice, by: 1)
        inboxes[least].post(
            WorkerMessage(
                token: .worker,
                content: .accepted(socket.release(), peer, isDevice: isDevice)))
    }

    /// Removes a listener from the poller for a while, so that connections that cannot be accepted cost nothing.
    private mutating func pauseAccepting(_ index: Int, milliseconds: Int) {
        listen(index, for: [])
        listeners[index].pausedUntil = Instant.now.after(milliseconds: milliseconds)
        listeners[index].hasAccepted = false
    }

    private mutating func resume(_ index: Int) {
        listen(index, for: .input)
        listeners[index].pausedUntil = nil
    }

    private func listen(_ index: Int, for interest: Poller.Interest) {
        poller.change(listeners[index].number, token: Token.listener + UInt64(index), interest)
    }
}
