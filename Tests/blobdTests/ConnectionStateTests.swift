import BlobProtocol
import BlobStore
import Testing

@testable import BlobServer

/// The state machine of a connection, without a socket: each state with each event.
@Suite struct ConnectionStateTests {
    typealias State = ConnectionState
    typealias Kind = ConnectionState.Phase.Kind

    private static let reply = PendingReply(
        reply: .changed, form: .http(HTTPForm(keepAlive: true, isHTTP10: false, isHead: false)))

    private static func phase(_ kind: Kind, isDue: Bool = false) -> State.Phase {
        let upload = {
            Upload(
                BodyPlan(kind: .batch, byteCountMax: 10), framing: .counted(10), form: reply.form)
        }
        let reader = {
            let reader = FeedReader(
                FeedQuery(owner: "u", start: .beginning, limit: 1, waitSeconds: 1), reply.form,
                end: .now)
            reader.isDue = isDue
            return reader
        }
        return switch kind {
        case .head: .head
        case .body: .body(upload())
        case .awaitingMemory: .awaitingMemory(upload())
        case .awaitingChange: .awaitingChange(reply)
        case .awaitingCommit: .awaitingCommit
        case .awaitingFeed: .awaitingFeed(reader())
        case .streaming: .streaming(reader())
        case .skipping: .skipping(7)
        case .lingering: .lingering
        case .draining: .draining
        case .closed: .closed
        }
    }

    /// A state in a phase, by a way that a connection can take.
    private static func state(
        _ kind: Kind, _ input: State.Input = .blocked, isDue: Bool = false
    ) -> State {
        var state = State()
        if kind == .awaitingMemory { state.enter(phase(.body)) }
        if kind != .head { state.enter(phase(kind, isDue: isDue)) }
        switch input {
        case .blocked: break
        case .readable:
            state.polled(isReadable: true, isEnd: false, isHangUp: false, isWatchingInput: true)
        case .readableToEnd:
            state.polled(isReadable: true, isEnd: true, isHangUp: false, isWatchingInput: true)
        case .ended: state.received(.ended)
        }
        return state
    }

    @Test("A request goes its ways and comes back to the next head; nothing leads out of the end")
    func transitions() {
        let ways: [Kind: Set<Kind>] = [
            .head: [
                .head, .body, .awaitingChange, .awaitingCommit, .awaitingFeed, .streaming,
                .skipping, .lingering, .draining, .closed,
            ],
            .body: [.head, .awaitingMemory, .awaitingChange, .skipping, .draining, .closed],
            .awaitingMemory: [.head, .body, .skipping, .draining, .closed],
            .awaitingChange: [.head, .draining, .closed],
            .awaitingCommit: [.head, .draining, .closed],
            .awaitingFeed: [.head, .draining, .closed],
            .streaming: [.head, .draining, .closed],
            .skipping: [.head, .skipping, .lingering, .draining, .closed],
            .lingering: [.draining, .closed],
            .draining: [.closed],
            .closed: [],
        ]
        for from in Kind.allCases {
            for to in Kind.allCases {
                #expect(from.mayBecome(to) == ways[from]?.contains(to), "\(from) to \(to)")
            }
        }
    }

    @Test("Bytes that came are read until the socket has none", arguments: State.Input.allCases)
    func reading(input: State.Input) {
        var filled = Self.state(.head, input)
        var short = filled
        var none = filled
        if input != .ended {
            filled.received(.moved(isFilled: true))
            short.received(.moved(isFilled: false))
            none.received(.blocked)
            // A short read was all there was, unless the end stands behind it.
            #expect(short.input == (input == .readable ? .blocked : input))
            #expect(filled.input == input)
            #expect(none.input == .blocked)
        }
        var ended = filled
        ended.received(.ended)
        #expect(ended.hasInputEnded && !ended.input.mayRead && !ended.takesInput)
        // What the poller says after the end changes nothing.
        ended.polled(isReadable: true, isEnd: true, isHangUp: false, isWatchingInput: true)
        #expect(ended.hasInputEnded)
    }

    @Test("A hang-up is read to its end, and ends a connection that is not watched")
    func hangUp() {
        for kind in Kind.allCases where kind != .closed && kind != .draining {
            var watched = Self.state(kind)
            watched.polled(isReadable: false, isEnd: false, isHangUp: true, isWatchingInput: true)
            #expect(!watched.isBroken && watched.input == .readableToEnd)
            let action = watched.endTimeSlice(output: .empty, isStopping: false)
            // Nobody is left to be sent changes; a change is still made, and answered to nobody.
            #expect((action == .drop) == (kind == .awaitingFeed || kind == .streaming), "\(kind)")

            var unwatched = Self.state(kind)
            unwatched.polled(
                isReadable: false, isEnd: false, isHangUp: true, isWatchingInput: false)
            #expect(unwatched.endTimeSlice(output: .blocked, isStopping: false) == .drop)
        }
    }

    @Test("Behind a time slice it waits for what it needs", arguments: Kind.allCases)
    func waiting(kind: Kind) {
        for input in State.Input.allCases {
            for output in State.Output.allCases {
                for isDue in [false, true] {
                    var state = Self.state(kind, input, isDue: isDue)
                    let action = state.endTimeSlice(output: output, isStopping: false)
                    #expect(
                        action == Self.expected(kind, input, output, isDue: isDue),
                        "\(kind), \(input), \(output)")
                }
            }
        }
    }

    private static func expected(
        _ kind: Kind, _ input: State.Input, _ output: State.Output, isDue: Bool
    ) -> State.Action {
        if [.draining, .closed].contains(kind) { return .none }
        if output == .blocked { return .wait(.output, isDue: false) }
        if output == .queued { return .wait([], isDue: true) }
        let interest: Poller.Interest =
            input == .ended || kind == .awaitingMemory ? [] : .input
        let isReading = [.head, .body, .skipping, .lingering].contains(kind)
        let isReadable = input == .readable || input == .readableToEnd
        let isReader = [.awaitingFeed, .streaming].contains(kind)
        return .wait(interest, isDue: isReading ? isReadable : isReader && isDue)
    }

    @Test("What ends lingers once its output is sent, until the peer has ended too")
    func ending() {
        for kind in [Kind.head, .skipping] {
            var state = Self.state(kind, .readable)
            state.endAfterOutput()
            #expect(
                state.endTimeSlice(output: .queued, isStopping: false) == .wait([], isDue: true))
            #expect(
                state.endTimeSlice(output: .empty, isStopping: false)
                    == .wait(.input, isDue: true, endsSending: true))
            #expect(state.phase.kind == .lingering)
            // The sending direction is ended once.
            #expect(
                state.endTimeSlice(output: .empty, isStopping: false) == .wait(.input, isDue: true))
            state.received(.ended)
            #expect(state.endTimeSlice(output: .empty, isStopping: false) == .drop)

            var ended = Self.state(kind, .ended)
            ended.endAfterOutput()
            #expect(ended.endTimeSlice(output: .empty, isStopping: false) == .drop)
        }
    }

    @Test("A failure ends it whatever it does, and no later event brings it back")
    func failure() {
        for kind in Kind.allCases where kind != .draining && kind != .closed {
            var state = Self.state(kind, .readable)
            state.fail()
            state.endAfterOutput()
            state.polled(isReadable: true, isEnd: false, isHangUp: false, isWatchingInput: true)
            #expect(state.isBroken && state.isEnding)
            #expect(state.endTimeSlice(output: .queued, isStopping: false) == .drop)
        }
    }

    @Test("A stop ends who has nothing to do, and lets others finish", arguments: Kind.allCases)
    func stopping(kind: Kind) {
        guard kind != .draining, kind != .closed else { return }
        let isIdle = kind == .head || kind == .lingering
        var state = Self.state(kind)
        #expect((state.endTimeSlice(output: .empty, isStopping: true) == .drop) == isIdle)
        // An answer that is not sent yet is still sent.
        var answered = Self.state(kind)
        #expect(answered.endTimeSlice(output: .blocked, isStopping: true) != .drop)
        // Requests that were read are still answered.
        var unread = Self.state(kind)
        unread.hasUnusedInput = true
        #expect(
            (unread.endTimeSlice(output: .empty, isStopping: true) == .drop)
                == (kind == .lingering))
    }

    @Test("The clock runs for the client when it is the client's move")
    func deadlines() {
        let ours: Set<Kind> = [
            .awaitingMemory, .awaitingChange, .awaitingCommit, .awaitingFeed, .streaming,
            .draining, .closed,
        ]
        for kind in Kind.allCases {
            let state = Self.state(kind)
            #expect(state.awaited(output: .queued, hasPartialHead: false) == .answer)
            let awaited = state.awaited(output: .empty, hasPartialHead: false)
            #expect((awaited == .ours) == ours.contains(kind), "\(kind)")
            #expect(state.isBusy(output: .blocked))
        }
        let head = Self.state(.head)
        #expect(head.awaited(output: .empty, hasPartialHead: false) == .idle)
        #expect(head.awaited(output: .empty, hasPartialHead: true) == .head)
    }
}
