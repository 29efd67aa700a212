internal import CLinux
internal import Glibc

/// Wakes a thread that waits for it (eventfd(2)). Signals that were not taken yet count as one.
package struct WakeSignal: ~Copyable, Sendable {
    private let descriptor: OwnedDescriptor

    package init() throws(SystemError) {
        descriptor = try OwnedDescriptor(taking: clinux_eventfd(), from: "eventfd")
    }

    package var number: Int32 { descriptor.number }

    /// Wakes the waiting thread, or ends its next wait at once.
    package borrowing func notify() {
        var one: UInt64 = 1
        // EAGAIN means that the counter is full, so there is a signal.
        _ = write(descriptor.number, &one, 8)
    }

    /// Takes all signals, so that the next wait blocks.
    package borrowing func take() {
        var count: UInt64 = 0
        _ = read(descriptor.number, &count, 8)
    }

    /// Waits for a signal and takes it, for at most `milliseconds`; negative: no limit.
    package borrowing func wait(milliseconds: Int) {
        var request = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
        if poll(&request, 1, Int32(clamping: max(-1, milliseconds))) > 0 { take() }
    }
}
