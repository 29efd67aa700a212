import CLinux
import Glibc
import Logging

/// The main thread's work: accepting connections, handing each to the worker that has the fewest,
/// and waiting for the signal to stop.
struct Acceptor: ~Copyable {
    /// How long nobody is accepted when descriptors or connections have run out.
    private static let pauseMilliseconds = 100
    /// The pause while connections are closing, so that a crowd that leaves does not hold up its successors.
    private static let pauseShortMilliseconds = 5

    private let poller: Poller
    private let signals: OwnedDescriptor
    private var connectionCountMax: Int
    private let counters: DaemonCounters
    private let inboxes: [WorkerInbox]
    private var exhaustion: RateLimitedLog
    private var refusals: RateLimitedLog
    private var peers = PeerTable()
    /// Until when nobody is accepted; nil while connections are.
    private var pausedUntil: Instant?
    /// Whether anybody was accepted since the last pause: then others are leaving, and there may
    /// soon be room again.
    private var hasAccepted = false
    private var doors: [Door]
    private let reload: () -> Admission?
    /// What is called in between; nil: nothing.
    private let beat: Beat?
    private var nextBeat = Instant.now

    /// Something to do at an interval.
    struct Beat {
        let milliseconds: Int
        let run: () -> Void
    }

    /// Who is accepted.
    struct Admission {
        let connectionCountMax: Int
        let allowedUserIDs: [UInt32]
    }

    /// A socket that listens.
    struct Door {
        /// Its descriptor. It is open as long as the acceptor is used.
        let number: Int32
        /// Whether it answers devices' links only.
        let isDevice: Bool
        var policy: PeerPolicy
    }

    private enum Token {
        static let signal: UInt64 = 1
        static let failure: UInt64 = 2
        /// Of the first door.
        static let door: UInt64 = 3
    }

    /// Why accepting ended.
    enum End {
        case signal(Int32)
        /// A sync has failed.
        case outcomeUnknown
    }

    /// Waits for connections to `doors`, for the signals that `signals` (a signalfd) reads, and for
    /// `failure`.
    ///
    /// - Parameters:
    ///   - doors: open as long as this is used.
    ///   - signals: is taken over.
    ///   - failure: ends the accepting.
    ///   - connectionCountMax: more have to wait.
    ///   - counters: of the connections.
    ///   - inboxes: of the workers.
    ///   - log: for what an operator should know.
    ///   - beat: called in between; nil: nothing is.
    ///   - reload: called for a SIGHUP; returns who is accepted from now on, nil: as before.
    init(
        doors: [Door], signals: consuming OwnedDescriptor, failure: borrowing WakeSignal,
        connectionCountMax: Int, counters: DaemonCounters, inboxes: [WorkerInbox], log: Logger,
        beat: Beat?, reload: @escaping () -> Admission?
    ) throws(SystemError) {
        let poller = try Poller()
        for (index, door) in doors.enumerated() {
            try poller.add(door.number, token: Token.door + UInt64(index), .input)
        }
        try poller.add(signals.number, token: Token.signal, .input)
        try poller.add(failure.number, token: Token.failure, .input)
        self.poller = poller
        self.signals = signals
        self.connectionCountMax = connectionCountMax
        self.doors = doors
        self.counters = counters
        self.inboxes = inboxes
        self.reload = reload
        self.beat = beat
        exhaustion = RateLimitedLog(log)
        refusals = RateLimitedLog(log)
    }

    /// Accepts until there is a reason to stop.
    mutating func run() -> End {
        while true {
            let now = Instant.now
            var pause = -1
            if let until = pausedUntil {
                pause = max(0, until.milliseconds(since: now))
                if pause == 0 { resume() }
            }
            if pausedUntil == nil { pause = -1 }
            if let beat {
                if now >= nextBeat {
                    nextBeat = now.after(milliseconds: beat.milliseconds)
                    beat.run()
                }
                let due = max(0, nextBeat.milliseconds(since: now)) + 1
                pause = pause < 0 ? due : min(pause, due)
            }
            let count = poller.wait(milliseconds: pause)
            for index in 0..<count {
                switch poller.event(index).token {
                case Token.signal:
                    if let number = takeStopSignal() { return .signal(number) }
                case Token.failure: return .outcomeUnknown
                case let token: acceptWaiting(doors[Int(token - Token.door)])
                }
            }
        }
    }

    /// Waits for another signal to stop, at most for `milliseconds`.
    ///
    /// - Returns: whether one came.
    mutating func waitForSignal(milliseconds: Int) -> Bool {
        let count = poller.wait(milliseconds: milliseconds)
        for index in 0..<count where poller.event(index).token == Token.signal {
            if takeStopSignal() != nil { return true }
        }
        return false
    }

    /// The signal that came, if it is one to stop. SIGHUP reloads.
    private mutating func takeStopSignal() -> Int32? {
        let number = clinux_take_signal(signals.number)
        guard number == SIGHUP else { return number > 0 ? number : nil }
        if let admission = reload() {
            connectionCountMax = admission.connectionCountMax
            for index in doors.indices {
                doors[index].policy.allow(admission.allowedUserIDs)
            }
        }
        return nil
    }

    /// Takes no more connections.
    func close() {
        for door in doors { poller.remove(door.number) }
    }

    private mutating func acceptWaiting(_ door: Door) {
        while true {
            guard counters.connectionCount < connectionCountMax else {
                // Those who wait in the backlog are accepted when others have left.
                let pause =
                    hasAccepted
                    ? Self.pauseShortMilliseconds
                    : Self.pauseMilliseconds
                return pauseAccepting(milliseconds: pause)
            }
            switch ListeningSocket.accept(from: door.number) {
            case .connection(let socket): admit(socket, by: door)
            case .none: return
            case .exhausted(let error):
                exhaustion.note(.warning, "Cannot accept connections for a moment: \(error)")
                return pauseAccepting(milliseconds: Self.pauseMilliseconds)
            }
        }
    }

    private mutating func admit(_ socket: consuming Socket, by door: Door) {
        let user = socket.peerUserID
        guard let user, door.policy.allows(user) else {
            counters.refusedPeers.add()
            refusals.note(
                .warning,
                "User \(user.map { String($0) } ?? "unknown") may not connect (--allow-uid)")
            return
        }
        var least = 0
        for index in inboxes.indices
        where counters.workers[index].connectionCount < counters.workers[least].connectionCount {
            least = index
        }
        hasAccepted = true
        counters.workers[least].countConnection(1)
        inboxes[least].post(
            WorkerMessage(
                token: .worker,
                content: .accepted(
                    socket.release(), peers.peer(user), isDevice: door.isDevice)))
    }

    /// Takes the doors out of the poller for a moment, so that connections that cannot be accepted cost
    /// nothing meanwhile.
    private mutating func pauseAccepting(milliseconds: Int) {
        watchDoors([])
        pausedUntil = Instant.now.after(milliseconds: milliseconds)
        hasAccepted = false
    }

    private mutating func resume() {
        watchDoors(.input)
        pausedUntil = nil
    }

    private func watchDoors(_ interest: Poller.Interest) {
        for (index, door) in doors.enumerated() {
            poller.change(door.number, token: Token.door + UInt64(index), interest)
        }
    }
}
