import TestSupport
import Testing

@testable import BlobServer
@testable import blobd

/// The memory and the files for bodies, as their reservations see them. No sockets.
@Suite struct BodyMemoryTests {
    private let inbox: WorkerInbox
    private let peer = Peer(userID: 1)

    init() throws {
        inbox = try WorkerInbox()
    }

    /// 400 bytes: 300 for short bodies, 200 for long ones.
    private func makeMemory(spools: Int = 10, waiting: Int = 100) -> BodyMemory {
        BodyMemory(
            BodyMemory.Limits(
                byteCountMax: 400, spoolCountMax: spools, waitingCountMax: waiting))
    }

    private func body(
        _ slot: Int, of memory: BodyMemory, peer: Peer? = nil
    ) -> BodyReservation {
        BodyReservation(
            of: memory, peer ?? self.peer,
            for: ConnectionAddress(
                inbox: inbox, token: ConnectionToken(slot: slot, generation: 1)))
    }

    private func memoryNeed(
        _ byteCount: Int, _ kind: BodyKind, orSpool: Bool = false
    ) -> BodyMemory.Need {
        BodyMemory.Need(byteCount: byteCount, kind: kind, takesSpool: orSpool)
    }

    /// The slots that were granted something since the last look.
    private func granted() -> [Int] {
        inbox.takeAll().compactMap { message in
            if case .memoryGranted = message.content { return message.token.slot }
            return nil
        }
    }

    @Test("Long bodies leave a share to short ones, and these one to those that are whole")
    func shares() {
        let memory = makeMemory()
        let long = body(1, of: memory)
        let short = body(2, of: memory)
        let whole = body(3, of: memory)
        #expect(long.grow(to: 200, .long))
        let other = body(4, of: memory)
        #expect(!other.grow(to: 1, .long))
        #expect(short.grow(to: 100, .short))
        #expect(!other.grow(to: 1, .short))
        #expect(whole.grow(to: 100, .whole))
        #expect(!other.grow(to: 1, .whole))
        #expect(memory.byteCountReserved == 400)
    }

    /// Each body used to reserve its announced length with its first byte, and 512 of them all there
    /// was; one that had sent a byte of ten kept everybody else waiting.
    @Test("A body has what it asks for, piece by piece, and gives back what it does not need")
    func pieces() {
        let memory = makeMemory()
        do {
            let long = body(1, of: memory)
            #expect(long.grow(to: 10, .long) && memory.byteCountReserved == 10)
            #expect(long.grow(to: 5, .long) && memory.byteCountReserved == 10)
            #expect(long.grow(to: 120, .long) && memory.byteCountReserved == 120)
            long.shrink(to: 20)
            #expect(memory.byteCountReserved == 20)
            #expect(long.takeSpool() && memory.spoolCountTaken == 1)
        }
        #expect(memory.byteCountReserved == 0 && memory.spoolCountTaken == 0)
    }

    @Test("Waiting bodies are served first in, first out")
    func order() {
        let memory = makeMemory()
        var first: BodyReservation? = body(1, of: memory)
        #expect(first?.grow(to: 200, .long) == true)
        let second = body(2, of: memory)
        let third = body(3, of: memory)
        #expect(second.wait(for: memoryNeed(150, .long)) == .waiting)
        first?.shrink(to: 190)
        // Ten are free, but another is before it in the line.
        #expect(!third.grow(to: 10, .long))
        #expect(third.wait(for: memoryNeed(10, .long)) == .waiting)
        #expect(memory.isWanted && memory.wanted == BodyMemory.Wanted(byteCount: 160))
        #expect(granted().isEmpty)
        first = nil
        #expect(granted() == [2, 3])
        #expect(second.byteCount == 150 && third.byteCount == 10 && !memory.isWanted)
    }

    @Test("Short bodies do not wait for long ones that wait")
    func shortFirst() {
        let memory = makeMemory()
        let long = body(1, of: memory)
        #expect(long.grow(to: 200, .long))
        #expect(body(2, of: memory).wait(for: memoryNeed(10, .long)) == .waiting)
        #expect(body(3, of: memory).grow(to: 50, .short))
        #expect(body(4, of: memory).grow(to: 50, .whole))
    }

    @Test("Who waits for memory takes a file that becomes free first, if that will do")
    func either() {
        let memory = makeMemory(spools: 1)
        let long = body(1, of: memory)
        var file: BodyReservation? = body(2, of: memory)
        #expect(long.grow(to: 200, .long))
        #expect(file?.takeSpool() == true)
        let waiting = body(3, of: memory)
        #expect(waiting.wait(for: memoryNeed(100, .long, orSpool: true)) == .waiting)
        let only = body(4, of: memory)
        #expect(
            only.wait(for: BodyMemory.Need(byteCount: nil, kind: .long, takesSpool: true))
                == .waiting)
        #expect(memory.wanted == BodyMemory.Wanted(byteCount: 100, spoolCount: 1))
        file = nil
        #expect(granted() == [3])
        #expect(waiting.spoolCount == 1 && waiting.byteCount == 0)
        long.shrink(to: 0)
        #expect(granted().isEmpty)
    }

    @Test("Who leaves the line is not waited for")
    func cancelled() {
        let memory = makeMemory()
        let first = body(1, of: memory)
        #expect(first.grow(to: 150, .long))
        let second = body(2, of: memory)
        let third = body(3, of: memory)
        #expect(second.wait(for: memoryNeed(200, .long)) == .waiting)
        #expect(third.wait(for: memoryNeed(50, .long)) == .waiting)
        #expect(second.cancel())
        #expect(granted() == [3])
        #expect(!second.cancel() && !third.cancel())
    }

    @Test("A line that is full lets nobody in")
    func fullLine() {
        let memory = makeMemory(waiting: 1)
        let first = body(1, of: memory)
        #expect(first.grow(to: 200, .long))
        #expect(body(2, of: memory).wait(for: memoryNeed(1, .long)) == .waiting)
        #expect(body(3, of: memory).wait(for: memoryNeed(1, .long)) == .refused)
    }

    @Test("A need for more than there can be gets all there can be")
    func tooMuch() {
        let memory = makeMemory()
        let long = body(1, of: memory)
        #expect(long.grow(to: 500, .long) && memory.byteCountReserved == 200)
    }

    @Test("A peer has everything while nobody else wants it, and a part when others do")
    func parts() {
        let memory = makeMemory(spools: 4)
        let other = Peer(userID: 2)
        var bodies = (0..<4).map { body($0, of: memory) }
        for body in bodies {
            #expect(body.grow(to: 50, .long))
            #expect(body.takeSpool())
        }
        let mine = body(10, of: memory)
        let others = body(11, of: memory, peer: other)
        #expect(mine.wait(for: memoryNeed(50, .long, orSpool: true)) == .waiting)
        #expect(others.wait(for: memoryNeed(100, .long)) == .waiting)
        bodies.removeLast()
        // 50 bytes and a file are free. The first in line is of a peer that has 150 of 200 bytes and
        // three of four files; the other needs more.
        #expect(granted().isEmpty)
        bodies.removeLast()
        // Then nobody else waits any more.
        #expect(granted() == [11, 10])
        #expect(others.byteCount == 100 && mine.byteCount == 0 && mine.spoolCount == 1)
    }

    /// Bodies of all kinds and peers come, grow, wait, give up and go. Whatever happens, no more is
    /// given out than there is, nobody overtakes his own kind for ever, and in the end everything is
    /// there again.
    @Test("A random crowd never has more than there is, and leaves nothing behind")
    func crowd() {
        let seed = testSeed(11)
        var random = SeededGenerator(seed: seed)
        let peers = (1...3).map { Peer(userID: UInt32($0)) }
        let limits = BodyMemory.Limits(
            byteCountMax: 4_000, spoolCountMax: 6, waitingCountMax: 20)
        let memory = BodyMemory(limits)
        struct Crowd {
            var body: BodyReservation
            var kind: BodyKind
            var isWaiting = false
            var wants = 0
        }
        var bodies: [Int: Crowd] = [:]
        var (grants, refusals, cancels) = (0, 0, 0)
        func check(_ step: Int) {
            let bytes = bodies.values.reduce(0) { $0 + $1.body.byteCount }
            let spools = bodies.values.reduce(0) { $0 + $1.body.spoolCount }
            #expect(
                memory.byteCountReserved == bytes && bytes <= limits.byteCountMax
                    && memory.spoolCountTaken == spools && spools <= limits.spoolCountMax,
                "seed \(seed), step \(step)")
            let longs = bodies.values.filter { $0.kind == .long }
                .reduce(0) { $0 + $1.body.byteCount }
            #expect(longs <= limits.ceiling(.long), "seed \(seed), step \(step)")
            for peer in peers {
                let own = bodies.values.filter { $0.body.isOf(peer) }
                #expect(
                    peer.bodyByteCount.now == own.reduce(0) { $0 + $1.body.byteCount }
                        && peer.spoolCount.now == own.reduce(0) { $0 + $1.body.spoolCount }
                        && peer.waitingBodyCount.now == own.count { $0.isWaiting },
                    "seed \(seed), step \(step), peer \(peer.userID)")
            }
        }
        func hear() {
            for slot in granted() {
                guard bodies[slot]?.isWaiting == true else { continue }
                bodies[slot]?.isWaiting = false
                grants += 1
            }
        }
        let steps = testRounds(4_000)
        for step in 0..<steps {
            let slot = Int.random(in: 0..<40, using: &random)
            if var one = bodies[slot] {
                switch Int.random(in: 0..<8, using: &random) {
                case 0:
                    if one.isWaiting, one.body.cancel() { cancels += 1 }
                    bodies[slot] = nil
                case 1 where !one.isWaiting: one.body.shrink(to: one.body.byteCount / 2)
                case 2 where !one.isWaiting: _ = one.body.takeSpool()
                case 3 where one.isWaiting:
                    if one.body.cancel() {
                        one.isWaiting = false
                        cancels += 1
                        bodies[slot] = one
                    }
                default:
                    guard !one.isWaiting else { break }
                    one.wants = one.body.byteCount + Int.random(in: 1...900, using: &random)
                    if !one.body.grow(to: one.wants, one.kind) {
                        switch one.body.wait(
                            for: BodyMemory.Need(
                                byteCount: Bool.random(using: &random) ? one.wants : nil,
                                kind: one.kind, takesSpool: true))
                        {
                        case .waiting: one.isWaiting = true
                        case .granted: grants += 1
                        case .refused: refusals += 1
                        }
                    }
                    bodies[slot] = one
                }
            } else {
                bodies[slot] = Crowd(
                    body: body(slot, of: memory, peer: peers.randomElement(using: &random)),
                    kind: BodyKind.allCases.randomElement(using: &random) ?? .long)
            }
            hear()
            check(step)
        }
        #expect(
            min(grants, refusals, cancels) >= 50, "seed \(seed): \(grants) \(refusals) \(cancels)")
        // Those that do not wait end, and others are served. Those that wait for files which only those who
        // wait have are refused at their deadline.
        for step in steps..<steps + 400 where !bodies.isEmpty {
            for (slot, one) in bodies where !one.isWaiting { bodies[slot] = nil }
            hear()
            check(step)
            if bodies.values.allSatisfy(\.isWaiting), let late = bodies.keys.min() {
                bodies[late]?.body.cancel()
                bodies[late] = nil
                hear()
            }
        }
        #expect(bodies.isEmpty, "seed \(seed): \(bodies.count) wait for ever")
        #expect(
            memory.byteCountReserved == 0 && memory.spoolCountTaken == 0 && !memory.isWanted,
            "seed \(seed)")
    }
}

extension BodyReservation {
    fileprivate func isOf(_ peer: Peer) -> Bool { self.peer === peer }
}
