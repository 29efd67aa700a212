import CLinux
import Glibc

/// Wakes a thread that waits for it (eventfd(2)). Any thread may give the signal; signals that
/// nobody has taken yet count as one.
struct WakeSignal: ~Copyable, Sendable {
    private let descriptor: OwnedDescriptor

    init() throws(SystemError) {
        descriptor = try OwnedDescriptor(taking: clinux_eventfd(), from: "eventfd")
    }

    /// The descriptor's number, for ``Poller``.
    var number: Int32 { descriptor.number }

    /// Wakes the thread that waits, or ends its next wait at once.
    borrowing func notify() {
        var one: UInt64 = 1
        // EAGAIN means that the counter is full, so the signal is given already.
        _ = write(descriptor.number, &one, 8)
    }

    /// Takes the signals given so far, so that the next wait waits again.
    borrowing func take() {
        var count: UInt64 = 0
        _ = read(descriptor.number, &count, 8)
    }

    /// Waits for a signal and takes it, at most for `milliseconds`; a negative time has no end.
    borrowing func wait(milliseconds: Int) {
        var request = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
        if poll(&request, 1, Int32(clamping: max(-1, milliseconds))) > 0 { take() }
    }
}
