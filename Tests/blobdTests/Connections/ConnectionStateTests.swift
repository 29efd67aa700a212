import BlobProtocol
import BlobStore
import Testing

@testable import BlobServer

/// The state machine of a connection, without a socket: each state with each event.
@Suite struct ConnectionStateTests {
    typealias State = ConnectionState
    typealias Kind = ConnectionState.Phase.Kind

    private static let reply = PendingReply(
        reply: .nothing,
        form: .http(
            HTTPForm(keepAlive: true, isHTTP10: false, isHead: false),
            RequestEntry(operation: .patch, startedAt: .now)))

    /// The phases in which a connection sends what becomes known by and by.
    fileprivate static let readers: Set<Kind> = [.awaitingFeed, .streaming, .sendingBackup]

    fileprivate static func phase(_ kind: Kind, isDue: Bool = false) -> State.Phase {
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
        let backup = {
            let answer = BackupAnswer(.last, reply.form)
            answer.isDue = isDue
            return answer
        }
        return switch kind {
        case .head: .head
        case .body: .body(upload())
        case .awaitingMemory: .awaitingMemory(upload())
        case .awaitingChange: .awaitingChange(reply)
        case .awaitingCommit: .awaitingCommit
        case .awaitingFeed: .awaitingFeed(reader())
        case .streaming: .streaming(reader())
        case .sendingBackup: .sendingBackup(backup())
        case .skipping: .skipping(7)
        case .lingering: .lingering
        case .draining: .draining
        case .closed: .closed
        }
    }

    /// A state in a phase, by a way that a connection can take.
    private static func state(
        _ kind: Kind, _ input: State.Input = .blocked, _ unused: State.Unused = .nothing,
        isDue: Bool = false
    ) -> State {
        var state = State()
        if kind == .awaitingMemory { state.enter(phase(.body)) }
        if kind == .lingering { state.endAfterOutput() }
        if kind != .head { state.enter(phase(kind, isDue: isDue)) }
        switch input {
        case .blocked: break
        case .readable: state.polled(isReadable: true, isEnd: false, isHangUp: false)
        case .readableToEnd: state.polled(isReadable: true, isEnd: true, isHangUp: false)
        case .ended: state.received(.ended)
        }
        state.keepUnused(unused)
        return state
    }

    /// The action of a wait.
    private static func wait(
        _ interest: Poller.Interest? = nil, queued: Bool = false, endsSending: Bool = false
    ) -> State.Action {
        .wait(State.Wait(interest: interest, entersRunQueue: queued, endsSending: endsSending))
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
            // A short read was all there was, unless the end stands after it.
            #expect(short.input == (input == .readable ? .blocked : input))
            #expect(filled.input == input)
            #expect(none.input == .blocked)
        }
        var ended = filled
        ended.received(.ended)
        #expect(ended.hasInputEnded && !ended.input.mayRead && !ended.takesInput)
        // What the poller says after the end changes nothing.
        ended.polled(isReadable: true, isEnd: true, isHangUp: false)
        #expect(ended.hasInputEnded)
    }

    @Test("A hang-up is read to its end, and ends a connection that is not watched")
    func hangUp() {
        for kind in Kind.allCases where kind != .closed && kind != .draining {
            var watched = Self.state(kind)
            #expect(watched.interest == .input)
            watched.polled(isReadable: false, isEnd: false, isHangUp: true)
            #expect(!watched.isBroken && watched.input == .readableToEnd)
            let action = watched.endTimeSlice(output: .empty, isStopping: false)
            // Nobody is left to be sent changes; a change is still made, and answered to nobody.
            #expect((action == .drop) == Self.readers.contains(kind), "\(kind)")

            var unwatched = Self.state(kind)
            #expect(
                unwatched.endTimeSlice(output: .blocked, isStopping: false) == Self.wait(.output))
            unwatched.polled(isReadable: false, isEnd: false, isHangUp: true)
            #expect(unwatched.endTimeSlice(output: .blocked, isStopping: false) == .drop)
        }
    }

    @Test("Behind a time slice it waits for what it needs", arguments: Kind.allCases)
    func waiting(kind: Kind) {
        for input in State.Input.allCases {
            for unused in State.Unused.allCases {
                for output in State.Output.allCases {
                    for isDue in [false, true] {
                        let begin = Self.state(kind, input, unused, isDue: isDue)
                        var state = begin
                        let action = state.endTimeSlice(output: output, isStopping: false)
                        #expect(
                            action == Self.expected(begin, output, isDue: isDue),
                            "\(kind), \(input), \(unused), \(output)")
                        // What the poller and the run queue know is not told twice.
                        guard case .wait = action else { continue }
                        let again = state.endTimeSlice(output: output, isStopping: false)
                        #expect(again == Self.wait(), "\(kind), \(input), \(unused), \(output)")
                    }
                }
            }
        }
    }

    private static func expected(
        _ state: State, _ output: State.Output, isDue: Bool
    ) -> State.Action {
        let kind = state.phase.kind
        if [.draining, .closed].contains(kind) { return .none }
        if kind == .lingering, state.input == .ended, output == .empty { return .drop }
        if output == .blocked { return wait(.output) }
        if output == .queued { return wait([], queued: true) }
        let isUnwatched = state.input == .ended || kind == .awaitingMemory
        let isReader = Self.readers.contains(kind)
        let isRequest = [.head, .body, .skipping].contains(kind)
        let hasUnread = isRequest && (state.unused == .unread || state.input == .ended)
        let isReadable = (isRequest || kind == .lingering) && state.input.mayRead
        return wait(
            isUnwatched ? [] : nil, queued: isReadable || hasUnread || isReader && isDue)
    }

    @Test("What ends lingers once its output is sent, until the peer has ended too")
    func ending() {
        for kind in [Kind.head, .skipping] {
            var state = Self.state(kind, .readable)
            state.endAfterOutput()
            #expect(
                state.endTimeSlice(output: .queued, isStopping: false)
                    == Self.wait([], queued: true))
            state.leaveRunQueue()
            #expect(
                state.endTimeSlice(output: .empty, isStopping: false)
                    == Self.wait(.input, queued: true, endsSending: true))
            #expect(state.phase.kind == .lingering)
            // The sending direction is ended once.
            state.leaveRunQueue()
            #expect(
                state.endTimeSlice(output: .empty, isStopping: false) == Self.wait(queued: true))
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
            #expect(state.ending == .now)
            state.polled(isReadable: true, isEnd: false, isHangUp: false)
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
        unread.keepUnused(.unread)
        #expect(
            (unread.endTimeSlice(output: .empty, isStopping: true) == .drop)
                == (kind == .lingering))
    }

    @Test("The clock runs for the client when it is the client's move")
    func deadlines() {
        let ours: Set<Kind> = [
            .awaitingMemory, .awaitingChange, .awaitingCommit, .awaitingFeed, .streaming,
            .sendingBackup, .draining, .closed,
        ]
        for kind in Kind.allCases {
            let state = Self.state(kind)
            #expect(state.awaited(output: .queued) == .answer)
            #expect((state.awaited(output: .empty) == .ours) == ours.contains(kind), "\(kind)")
            #expect(state.isBusy(output: .blocked))
        }
        #expect(Self.state(.head).awaited(output: .empty) == .idle)
        #expect(Self.state(.head, .blocked, .partial).awaited(output: .empty) == .head)
    }

    @Test("Bytes behind a request are looked at when the request is answered")
    func unused() {
        for kind in [Kind.awaitingChange, .awaitingFeed, .awaitingCommit, .body] {
            var state = Self.state(kind, .blocked, .partial)
            state.endRequest(isLast: false)
            #expect(state.unused == .unread)
            #expect(
                state.endTimeSlice(output: .empty, isStopping: false) == Self.wait(queued: true))
            var last = Self.state(kind, .blocked, .unread)
            last.endRequest(isLast: true)
            #expect(last.isEnding)
            #expect(
                last.endTimeSlice(output: .empty, isStopping: false) == Self.wait(endsSending: true)
            )
            #expect(last.unused == .nothing)
        }
    }
}

/// All states that a connection can come to, by all events, and what must hold in each.
@Suite struct ConnectionStateSearchTests {
    typealias State = ConnectionState

    /// A state without what belongs to it.
    private struct Key: Hashable {
        let phase: State.Phase.Kind
        let input: State.Input
        let unused: State.Unused
        let ending: State.Ending
        let interest: Poller.Interest
        let flags: [Bool]

        init(_ state: State) {
            phase = state.phase.kind
            input = state.input
            unused = state.unused
            ending = state.ending
            interest = state.interest
            flags = [
                state.isQueued, state.isHungUp, state.phase.feedReader?.isDue ?? false,
            ]
        }
    }

    /// All phases, those of feeds with something to look at and without.
    private let phases = State.Phase.Kind.allCases.flatMap { kind in
        let phase = ConnectionStateTests.phase(kind)
        guard ConnectionStateTests.readers.contains(kind) else { return [phase] }
        return [phase, ConnectionStateTests.phase(kind, isDue: true)]
    }

    /// The states that one event leads to, as far as it can happen.
    private func next(_ state: State) -> [State] {
        var found: [State] = []
        func add(_ event: (inout State) -> Void) {
            var next = state
            event(&next)
            found.append(next)
        }
        for bits in 0..<8 {
            add {
                $0.polled(
                    isReadable: bits & 1 != 0, isEnd: bits & 2 != 0, isHangUp: bits & 4 != 0)
            }
        }
        if state.takesInput {
            add { $0.received(.moved(isFilled: true)) }
            add { $0.received(.moved(isFilled: false)) }
            add { $0.received(.blocked) }
            add { $0.received(.ended) }
            add { $0.readOnceMore() }
        }
        add { $0.loadUnused() }
        for unused in State.Unused.allCases
        where state.phase.kind != .closed && state.phase.kind != .draining {
            add { $0.keepUnused(unused) }
        }
        if state.isQueued { add { $0.leaveRunQueue() } } else { add { _ = $0.enterRunQueue() } }
        for phase in phases where state.mayEnter(phase.kind) { add { $0.enter(phase) } }
        if state.mayEnter(.head) {
            add { $0.endRequest(isLast: false) }
            add { $0.endRequest(isLast: true) }
        }
        if state.phase.kind.mayBecome(.lingering) { add { $0.endAfterOutput() } }
        add { $0.fail() }
        return found
    }

    @Test("Whatever comes, a connection is served again, waits for somebody, or ends")
    func search() {
        var seen: Set<Key> = []
        var waiting = [State()]
        while let state = waiting.popLast() {
            guard seen.insert(Key(state)).inserted else { continue }
            waiting += next(state)
            for output in State.Output.allCases {
                for isStopping in [false, true] {
                    var ended = state
                    let action = ended.endTimeSlice(output: output, isStopping: isStopping)
                    check(state, ended, output, action, isStopping)
                    waiting.append(ended)
                }
            }
        }
        #expect(seen.count > 1_000)
    }

    private func check(
        _ before: State, _ state: State, _ output: State.Output, _ action: State.Action,
        _ isStopping: Bool
    ) {
        func require(_ isTrue: Bool, _ rule: String) {
            if !isTrue { Issue.record("\(rule): \(before), \(output), \(action)") }
        }
        let kind = state.phase.kind
        if kind == .draining || kind == .closed {
            return require(action == .none, "what is over has nothing to do")
        }
        require(action != .none, "what is not over waits or ends")
        guard case .wait(let change) = action else {
            return require(
                state.isBroken || isStopping && output == .empty,
                "what has not failed is not dropped")
        }
        require(!state.isBroken, "what has failed is dropped")
        require(change.interest ?? before.interest == state.interest, "the poller knows")
        require((before.isQueued || change.entersRunQueue) == state.isQueued, "queued once")
        require(!(before.isQueued && change.entersRunQueue), "not queued twice")
        if change.endsSending {
            require(kind == .lingering && before.phase.kind != .lingering, "ended once")
        }
        switch output {
        case .queued: require(state.isQueued, "what can be sent is sent")
        case .blocked: require(state.interest == .output, "the socket's space is waited for")
        case .empty:
            let waitsForMessage = [
                .awaitingMemory, .awaitingChange, .awaitingCommit, .awaitingFeed,
                .streaming, .sendingBackup,
            ].contains(kind)
            require(
                state.isQueued || waitsForMessage || state.interest == .input,
                "somebody brings it on")
            if state.takesInput, state.input.mayRead {
                require(state.isQueued, "input is read")
            }
            if kind == .head, state.unused == .unread {
                require(state.isQueued, "requests are answered")
            }
            if kind == .head, state.input == .ended {
                require(state.isQueued, "the end is noticed")
            }
            require(
                state.phase.feedReader?.isDue != true || state.isQueued, "changes are looked at")
            require(state.ending == .none || kind == .lingering || state.isBroken, "it ends")
        }
    }
}
