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

    /// Adds a socket, to wait for its input. Its events carry `index`.
    borrowing func add(_ socket: Int32, index: Int) throws(LoadFailure) {
        guard clinux_epoll_add(descriptor, socket, Self.interest(false), UInt64(index)) == 0
        else { throw LoadFailure(systemCall: "epoll_ctl") }
    }

    /// Sets whether to wait for space to send as well.
    borrowing func change(_ socket: Int32, index: Int, awaitsRoom: Bool) {
        _ = clinux_epoll_modify(descriptor, socket, Self.interest(awaitsRoom), UInt64(index))
    }

    /// Waits at most this long. Returns the number of events; 0 after a signal.
    borrowing func wait(nanoseconds: Int64) throws(LoadFailure) -> Int {
        // The kernel writes at most `eventCountMax` events.
        let count = cload_epoll_wait(
            descriptor, events, Int32(Self.eventCountMax), max(0, nanoseconds))
        if count >= 0 { return Int(count) }
        guard errno == EINTR else { throw LoadFailure(systemCall: "epoll_wait") }
        return 0
    }

    /// The connection's index of event `number` of the last wait.
    borrowing func index(_ number: Int) -> Int {
        precondition(number >= 0 && number < Self.eventCountMax)
        return Int(truncatingIfNeeded: clinux_epoll_token(events, Int32(number)))
    }
}
