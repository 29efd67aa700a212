import BlobStore
import CLinux
import Glibc

/// A set of descriptors to wait for (epoll(7)). Connections are edge-triggered: the receiver of an input event
/// remembers it until a read finds the socket empty. Interest in writing is only set while an answer is stuck, or a
/// worker would wake for every buffer that the peer reads.
struct Poller: ~Copyable {
    private let descriptor: OwnedDescriptor
    private let events: UnsafeMutableRawPointer

    /// How many events one wait can return; the next wait returns the rest.
    static let eventCountMax = 256

    init() throws(SystemError) {
        descriptor = try OwnedDescriptor(taking: clinux_epoll_create(), from: "epoll_create1")
        events = .allocate(
            byteCount: clinux_epoll_event_size() * Self.eventCountMax, alignment: 16)
    }

    deinit {
        events.deallocate()
    }

    struct Interest: OptionSet, Hashable {
        let rawValue: UInt32
        static let input = Interest(rawValue: UInt32(CLINUX_IN))
        static let output = Interest(rawValue: UInt32(CLINUX_OUT))

        /// For a connection: edge-triggered, including the end of the peer's sending direction.
        var edges: Interest {
            let end = contains(.input) ? UInt32(CLINUX_RDHUP) : 0
            return Interest(rawValue: rawValue | end | UInt32(bitPattern: Int32(CLINUX_EDGE)))
        }
    }

    struct Event {
        let token: UInt64
        private let flags: UInt32

        fileprivate init(token: UInt64, flags: UInt32) {
            self.token = token
            self.flags = flags
        }

        var isReadable: Bool { flags & UInt32(CLINUX_IN) != 0 }
        /// The peer sends no more: the unread input is followed by the end.
        var isEnd: Bool { flags & UInt32(CLINUX_RDHUP) != 0 }
        /// Both directions are closed, or the socket failed. Always reported.
        var isHangUp: Bool { flags & UInt32(CLINUX_HUP | CLINUX_ERR) != 0 }
    }

    /// Adds a descriptor (`EPOLL_CTL_ADD`). Closing it removes it.
    borrowing func add(
        _ number: Int32, token: UInt64, _ interest: Interest
    ) throws(SystemError) {
        guard clinux_epoll_add(descriptor.number, number, interest.rawValue, token) == 0 else {
            throw SystemError("epoll_ctl")
        }
    }

    /// Changes the events to wait for (`EPOLL_CTL_MOD`), and checks for them at once.
    borrowing func change(_ number: Int32, token: UInt64, _ interest: Interest) {
        _ = clinux_epoll_modify(descriptor.number, number, interest.rawValue, token)
    }

    /// Removes a descriptor (`EPOLL_CTL_DEL`).
    borrowing func remove(_ number: Int32) {
        _ = clinux_epoll_remove(descriptor.number, number)
    }

    /// Waits for events (`epoll_wait`), and returns their number. A negative time means no limit.
    borrowing func wait(milliseconds: Int) -> Int {
        let count = clinux_epoll_wait(
            descriptor.number, events, Int32(Self.eventCountMax),
            Int32(clamping: max(-1, milliseconds)))
        return max(0, Int(count))
    }

    borrowing func event(_ index: Int) -> Event {
        precondition(index >= 0 && index < Self.eventCountMax)
        return Event(
            token: clinux_epoll_token(events, Int32(index)),
            flags: clinux_epoll_flags(events, Int32(index)))
    }
}
