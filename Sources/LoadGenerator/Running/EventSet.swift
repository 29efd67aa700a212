internal import CLinux
internal import CLoad
internal import Glibc

/// An epoll set of the generator's connections, level-triggered.
struct EventSet: ~Copyable {
    private let descriptor: Int32
    private let events: UnsafeMutableRawPointer

    /// How many events one wait can return; the others come with the next.
    static let eventCountMax = 256

    init() throws(LoadFailure) {
        events = .allocate(
            byteCount: clinux_epoll_event_size() * Self.eventCountMax, alignment: 16)
        descriptor = clinux_epoll_create()
        guard descriptor >= 0 else { throw LoadFailure(systemCall: "epoll_create1") }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        events.deallocate()
    }

    private static func interest(_ output: Bool) -> UInt32 {
        UInt32(CLINUX_IN) | (output ? UInt32(CLINUX_OUT) : 0)
    }

    /// Waits for input of a socket from now on; events tell its `index`.
    borrowing func add(_ socket: Int32, index: Int) throws(LoadFailure) {
        guard clinux_epoll_add(descriptor, socket, Self.interest(false), UInt64(index)) == 0
        else { throw LoadFailure(systemCall: "epoll_ctl") }
    }

    /// Also waits for room to send, or no longer does.
    borrowing func change(_ socket: Int32, index: Int, awaitsRoom: Bool) {
        _ = clinux_epoll_modify(descriptor, socket, Self.interest(awaitsRoom), UInt64(index))
    }

    /// Waits at most so many nanoseconds; returns how many events there are.
    borrowing func wait(nanoseconds: Int64) throws(LoadFailure) -> Int {
        // The kernel writes at most as many events as there is room for.
        let count = cload_epoll_wait(
            descriptor, events, Int32(Self.eventCountMax), max(0, nanoseconds))
        if count >= 0 { return Int(count) }
        guard errno == EINTR else { throw LoadFailure(systemCall: "epoll_wait") }
        return 0
    }

    /// Which connection event `number` of the last wait is about.
    borrowing func index(_ number: Int) -> Int {
        precondition(number >= 0 && number < Self.eventCountMax)
        return Int(truncatingIfNeeded: clinux_epoll_token(events, Int32(number)))
    }
}
