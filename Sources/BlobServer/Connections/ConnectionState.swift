import BlobProtocol

/// What a connection is in the middle of: a state machine without a socket.
///
/// Events go in (``polled(isReadable:isEnd:isHangUp:isWatchingInput:)``, ``received(_:)``, ``enter(_:)``, ``endAfterOutput()``,
/// ``fail()``), and ``endTimeSlice(output:isStopping:)`` says what is to be done. A transition that no
/// connection can make is a precondition failure.
struct ConnectionState {
    /// What a connection is busy with.
    enum Phase {
        /// A request's head is expected.
        case head
        /// A body is being received.
        case body(Upload)
        /// A body is received once there is memory.
        case awaitingMemory(Upload)
        /// The writer has a change of this connection.
        case awaitingChange(PendingReply)
        /// The writer commits what is pending, so that a request can be answered.
        case awaitingCommit
        /// An owner's changes are waited for, or the end of the time for them.
        case awaitingFeed(FeedReader)
        /// An owner's changes are sent as they come.
        case streaming(FeedReader)
        /// The next bytes of a body, this many, are thrown away.
        case skipping(UInt64)
        /// The last answer is sent. Input is thrown away until the peer hangs up.
        case lingering
        /// Both directions are shut down. The peer may still read pages of the file from its queue, so the socket
        /// stays open.
        case draining
        /// The worker has forgotten it.
        case closed
    }

    /// What is known of the bytes that the peer sends.
    enum Input: CaseIterable {
        /// The socket has none. The poller says when that changes.
        case blocked
        /// The socket may have some.
        case readable
        /// The socket may have some, and the end behind them.
        case readableToEnd
        /// The peer has ended its side, and all of it was read.
        case ended

        var mayRead: Bool { self == .readable || self == .readableToEnd }
    }

    /// How a connection ends.
    enum Ending: CaseIterable {
        /// It goes on.
        case none
        /// When its output is sent. No further request is answered.
        case afterOutput
        /// At once. Nothing can be sent or read any more.
        case now
    }

    /// What waits to be sent.
    enum Output: CaseIterable {
        case empty
        /// The socket may take more of it.
        case queued
        /// The socket takes no more. The poller says when that changes.
        case blocked
    }

    /// What one read did.
    enum Reading {
        /// Bytes came. `isFilled`: as many as there was room for, so there may be more.
        case moved(isFilled: Bool)
        case blocked
        case ended
    }

    /// What is to be done at the end of a time slice.
    enum Action: Equatable {
        /// Nothing: it is over, or waits for its peer to read.
        case none
        /// End the connection.
        case drop
        /// Wait for events.
        ///
        /// - `isDue`: it has more to do without any event.
        /// - `endsSending`: its last answer is sent: end the sending direction first.
        case wait(Poller.Interest, isDue: Bool, endsSending: Bool = false)
    }

    private(set) var phase = Phase.head
    private(set) var input = Input.blocked
    private(set) var ending = Ending.none
    /// The peer has closed both directions.
    private(set) var isHungUp = false
    /// Whether input that was read may begin with a whole request, or the end of the input is to be noticed.
    var hasUnusedInput = false

    /// No further request is answered.
    var isEnding: Bool { ending != .none }
    /// Nothing can be sent or read any more.
    var isBroken: Bool { ending == .now }
    var hasInputEnded: Bool { input == .ended }

    // MARK: Events

    /// The poller reported the socket.
    ///
    /// - Parameter isWatchingInput: whether the poller was asked for input. If not, nothing is read now and
    ///   nobody is left to be sent anything; the hang-up would be reported for ever.
    mutating func polled(
        isReadable: Bool, isEnd: Bool, isHangUp: Bool, isWatchingInput: Bool
    ) {
        if isHangUp {
            isHungUp = true
            guard isWatchingInput else { return fail() }
        }
        guard input != .ended else { return }
        if isEnd || isHangUp {
            input = isReadable || isHangUp || input.mayRead ? .readableToEnd : input
        } else if isReadable, input == .blocked {
            input = .readable
        }
    }

    /// The socket was read.
    mutating func received(_ reading: Reading) {
        switch reading {
        case .moved(let isFilled):
            // Fewer bytes than there was room for are all there are.
            if input == .readable, !isFilled { input = .blocked }
        case .blocked: input = .blocked
        case .ended: input = .ended
        }
    }

    /// The daemon stops: what is in the socket is read once more.
    mutating func readOnceMore() {
        if input == .blocked { input = .readable }
    }

    /// Another phase begins.
    mutating func enter(_ next: Phase) {
        precondition(
            phase.kind.mayBecome(next.kind),
            "a connection cannot go from \(phase.kind) to \(next.kind)")
        phase = next
    }

    /// The connection ends when its output is sent.
    mutating func endAfterOutput() {
        if ending == .none { ending = .afterOutput }
    }

    /// The connection ends at once.
    mutating func fail() {
        ending = .now
    }

    /// A time slice is over.
    ///
    /// - Parameter isStopping: whether the daemon stops: a connection that has nothing to do ends.
    mutating func endTimeSlice(output: Output, isStopping: Bool) -> Action {
        if phase.kind == .draining || phase.kind == .closed { return .none }
        var endsSending = false
        if ending == .afterOutput, output == .empty {
            if phase.kind != .lingering {
                enter(.lingering)
                endsSending = true
                if isStopping { fail() }
            }
            if input == .ended { fail() }
        }
        // Nobody is left to be sent changes.
        if isHungUp, feedReader != nil { fail() }
        if isBroken || (isStopping && !isBusy(output: output)) { return .drop }
        switch output {
        case .blocked: return .wait(.output, isDue: false, endsSending: endsSending)
        case .queued: return .wait([], isDue: true, endsSending: endsSending)
        case .empty: break
        }
        let interest: Poller.Interest = input == .ended ? [] : .input
        switch phase {
        case .head, .body, .skipping, .lingering:
            return .wait(
                interest, isDue: hasUnusedInput || input.mayRead, endsSending: endsSending)
        case .awaitingChange, .awaitingCommit:
            // Nothing is read meanwhile, but an edge is noted, so the poller need not be told twice for each
            // publish.
            return .wait(interest, isDue: false)
        case .awaitingFeed(let reader), .streaming(let reader):
            return .wait(interest, isDue: reader.isDue)
        case .awaitingMemory, .draining, .closed: return .wait([], isDue: false)
        }
    }

    // MARK: Questions

    /// Whether something was asked that is not answered yet, or answered and not sent.
    func isBusy(output: Output) -> Bool {
        if output != .empty { return true }
        switch phase {
        case .head: return hasUnusedInput
        case .lingering, .draining, .closed: return false
        case .body, .awaitingMemory, .awaitingChange, .awaitingCommit, .awaitingFeed, .streaming,
            .skipping:
            return true
        }
    }

    /// Whether input may be read.
    var takesInput: Bool {
        switch phase {
        case .head, .body, .skipping, .lingering: input != .ended
        case .awaitingMemory, .awaitingChange, .awaitingCommit, .awaitingFeed, .streaming,
            .draining, .closed:
            false
        }
    }

    /// The feed that the connection reads; nil when it is busy with something else.
    var feedReader: FeedReader? {
        switch phase {
        case .awaitingFeed(let reader), .streaming(let reader): reader
        default: nil
        }
    }

    /// What the client is being waited for.
    ///
    /// - Parameter hasPartialHead: whether the beginning of a head was read.
    func awaited(output: Output, hasPartialHead: Bool) -> Deadline.Kind {
        if output != .empty { return .answer }
        switch phase {
        case .head: return hasPartialHead ? .head : .idle
        case .body, .skipping: return .body
        case .awaitingMemory, .awaitingChange, .awaitingCommit, .awaitingFeed, .streaming,
            .draining, .closed:
            return .ours
        case .lingering: return .linger
        }
    }
}

extension ConnectionState.Phase {
    /// A phase without what belongs to it.
    enum Kind: CaseIterable {
        case head, body, awaitingMemory, awaitingChange, awaitingCommit, awaitingFeed, streaming
        case skipping, lingering, draining, closed

        /// Whether a connection may go on with `next`.
        func mayBecome(_ next: Kind) -> Bool {
            // Any connection may end, whatever it is doing.
            if next == .closed { return self != .closed }
            if next == .draining { return self != .draining && self != .closed }
            return switch self {
            case .head: next != .awaitingMemory
            case .body: [.head, .awaitingMemory, .awaitingChange, .skipping].contains(next)
            case .awaitingMemory: [.head, .body, .skipping].contains(next)
            case .awaitingChange, .awaitingCommit, .awaitingFeed, .streaming: next == .head
            case .skipping: [.head, .skipping, .lingering].contains(next)
            case .lingering, .draining, .closed: false
            }
        }
    }

    var kind: Kind {
        switch self {
        case .head: .head
        case .body: .body
        case .awaitingMemory: .awaitingMemory
        case .awaitingChange: .awaitingChange
        case .awaitingCommit: .awaitingCommit
        case .awaitingFeed: .awaitingFeed
        case .streaming: .streaming
        case .skipping: .skipping
        case .lingering: .lingering
        case .draining: .draining
        case .closed: .closed
        }
    }
}
