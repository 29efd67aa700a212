import BlobProtocol

/// What a connection does and what it waits for: a state machine without a socket. Events go in, and
/// ``endTimeSlice(output:isStopping:)`` returns what to do. An impossible transition is a precondition failure.
struct ConnectionState {
    enum Input: CaseIterable {
        /// The socket is empty. The poller reports when that changes.
        case blocked
        case readable
        /// The socket may contain input, followed by its end.
        case readableToEnd
        /// The peer has ended its side, and all input was read.
        case ended

        var mayRead: Bool { self == .readable || self == .readableToEnd }
    }

    enum Unused: CaseIterable {
        case nothing
        /// The beginning of a head, which needs more bytes.
        case partial
        /// Not yet parsed: may begin with a whole request.
        case unread
    }

    enum Ending: CaseIterable {
        case none
        /// Once the output is sent. No further request is answered.
        case afterOutput
        /// At once. Nothing can be sent or read.
        case now
    }

    enum Output: CaseIterable {
        case empty
        /// The socket may take more of it.
        case queued
        /// The socket is full. The poller reports when that changes.
        case blocked
    }

    enum Reading {
        /// Bytes arrived. If `isFilled`, they filled the buffer, so there may be more.
        case moved(isFilled: Bool)
        case blocked
        case ended
    }

    enum Action: Equatable {
        /// The connection has ended, or waits for its peer to read.
        case none
        case drop
        case wait(Wait)
    }

    struct Wait: Equatable {
        /// What the poller reports from now on; nil: no change.
        var interest: Poller.Interest?
        /// The connection has more to do without waiting for an event: add it to the run queue.
        var entersRunQueue = false
        /// The last answer is sent: shut down the sending direction.
        var endsSending = false
    }

    private(set) var phase = Phase.head
    private(set) var input = Input.blocked
    private(set) var unused = Unused.nothing
    private(set) var ending = Ending.none
    private(set) var interest = Poller.Interest.input
    private(set) var isQueued = false
    private(set) var isHungUp = false
    /// The peer has sent something, or has ended its side.
    private(set) var hasBegun = false

    var isEnding: Bool { ending != .none }
    var isBroken: Bool { ending == .now }
    var hasInputEnded: Bool { input == .ended }

    // MARK: Events

    mutating func polled(isReadable: Bool, isEnd: Bool, isHangUp: Bool) {
        if isHangUp {
            isHungUp = true
            // Without interest in input nothing is read, so the hang-up would be reported forever, and an answer would
            // reach nobody.
            guard interest.contains(.input) else { return fail() }
        }
        guard input != .ended else { return }
        if isEnd || isHangUp {
            input = isReadable || isHangUp || input.mayRead ? .readableToEnd : input
        } else if isReadable, input == .blocked {
            input = .readable
        }
    }

    mutating func received(_ reading: Reading) {
        switch reading {
        case .moved(let isFilled):
            hasBegun = true
            // A read that did not fill the buffer has emptied the socket.
            if input == .readable, !isFilled { input = .blocked }
        case .blocked: input = .blocked
        case .ended:
            hasBegun = true
            input = .ended
        }
    }

    mutating func loadUnused() { unused = .nothing }

    mutating func keepUnused(_ unused: Unused) { self.unused = unused }

    /// The connection is to be served without an event. Returns whether to add it to the run queue, which may contain
    /// it.
    mutating func enterRunQueue() -> Bool {
        defer { isQueued = true }
        return !isQueued
    }

    mutating func leaveRunQueue() {
        precondition(isQueued, "the connection is not in the run queue")
        isQueued = false
    }

    /// The daemon stops: the socket is read once more.
    mutating func readOnceMore() {
        if input == .blocked { input = .readable }
    }

    mutating func enter(_ next: Phase) {
        let kind = next.kind
        precondition(mayEnter(kind), "a connection cannot go from \(phase.kind) to \(kind)")
        phase = next
        switch kind {
        case .lingering, .closed: unused = .nothing
        case .draining: (unused, interest) = (.nothing, [])
        default:
            // They were parsed in another phase.
            if unused == .partial { unused = .unread }
        }
    }

    /// Whether a phase may begin. Nothing begins on a connection that is ending.
    func mayEnter(_ next: Phase.Kind) -> Bool {
        guard phase.kind.mayBecome(next) else { return false }
        switch next {
        case .lingering: return ending == .afterOutput
        case .head, .skipping, .draining, .closed: return true
        default: return ending != .afterOutput
        }
    }

    mutating func endRequest(isLast: Bool) {
        enter(.head)
        if isLast { endAfterOutput() }
    }

    mutating func endAfterOutput() {
        guard ending == .none else { return }
        precondition(
            phase.kind.mayBecome(.lingering), "a connection cannot end in \(phase.kind)")
        ending = .afterOutput
    }

    mutating func fail() {
        ending = .now
    }

    /// Ends a time slice. While the daemon stops, a connection with nothing to do ends.
    mutating func endTimeSlice(output: Output, isStopping: Bool) -> Action {
        switch phase {
        case .draining, .closed: return .none
        default: break
        }
        var wait = Wait()
        if ending == .afterOutput, output == .empty {
            if phase.kind != .lingering {
                enter(.lingering)
                wait.endsSending = true
                if isStopping { fail() }
            }
            if input == .ended { fail() }
        }
        if isHungUp, phase.endsOnHangUp { fail() }
        if isBroken || (isStopping && !isBusy(output: output)) { return .drop }
        let awaited = awaitedInterest(output: output)
        if awaited != interest {
            interest = awaited
            wait.interest = awaited
        }
        if isDue(output: output) { wait.entersRunQueue = enterRunQueue() }
        return .wait(wait)
    }

    // MARK: Questions

    @inline(__always)
    private func awaitedInterest(output: Output) -> Poller.Interest {
        switch output {
        case .blocked: return .output
        case .queued: return []
        case .empty: break
        }
        // While a connection waits for the writer its events are recorded, which saves two calls of the poller for each
        // publish.
        if input == .ended { return [] }
        if case .awaitingMemory = phase { return [] }
        return .input
    }

    @inline(__always)
    private func isDue(output: Output) -> Bool {
        switch output {
        case .blocked: return false
        case .queued: return true
        case .empty: break
        }
        switch phase {
        case .head, .body, .skipping: return input.mayRead || hasUnread
        case .lingering: return input.mayRead
        case .awaitingFeed(let reader), .streaming(let reader): return reader.isDue
        case .sendingBackup(let answer): return answer.isDue
        case .awaitingMemory, .awaitingChange, .awaitingCommit, .draining, .closed: return false
        }
    }

    /// Whether there are bytes to parse, or an end of the input to act on.
    private var hasUnread: Bool { ending == .none && (unused == .unread || input == .ended) }

    /// Whether a request is unanswered, or its answer unsent.
    func isBusy(output: Output) -> Bool {
        if output != .empty { return true }
        switch phase {
        case .head: return hasUnread
        case .lingering, .draining, .closed: return false
        case .body, .awaitingMemory, .awaitingChange, .awaitingCommit, .awaitingFeed, .streaming,
            .sendingBackup, .skipping:
            return true
        }
    }

    /// Whether requests that arrive can be answered at once.
    @inline(__always)
    func mayAnswer(output: Output) -> Bool {
        guard case .head = phase else { return false }
        return ending == .none && output == .empty
    }

    /// Whether the writer, or a thread that asks the bucket, has to report before the request is answered.
    var awaitsResult: Bool {
        switch phase {
        case .awaitingChange, .awaitingCommit: true
        default: false
        }
    }

    /// Whether a request waits for something other than its client. Input that follows it stays in memory meanwhile.
    var isWaiting: Bool {
        switch phase {
        case .awaitingMemory, .awaitingChange, .awaitingCommit, .awaitingFeed, .sendingBackup: true
        case .head, .body, .skipping, .streaming, .lingering, .draining, .closed: false
        }
    }

    /// Whether input that follows is parsed later. Behind a stream, nothing is.
    var keepsUnused: Bool {
        if case .streaming = phase { return false }
        return !isBroken
    }

    var takesInput: Bool {
        switch phase {
        case .head, .body, .skipping, .lingering: input != .ended
        case .awaitingMemory, .awaitingChange, .awaitingCommit, .awaitingFeed, .streaming,
            .sendingBackup, .draining, .closed:
            false
        }
    }

    func awaited(output: Output) -> Deadline.Kind {
        if output != .empty { return .answer }
        switch phase {
        case .head: return unused == .nothing ? .idle : .head
        case .body, .skipping: return .body
        case .awaitingMemory, .awaitingChange, .awaitingCommit, .awaitingFeed, .streaming,
            .sendingBackup, .draining, .closed:
            return .ours
        case .lingering: return .linger
        }
    }
}
