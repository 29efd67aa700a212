import CLinux
import Glibc

/// A file descriptor with one owner, closed when the owner is destroyed (`close`).
struct OwnedDescriptor: ~Copyable, Sendable {
    let number: Int32

    /// Takes over a descriptor that a system call has just returned. Throws errno if the number is negative.
    init(taking number: Int32, from call: StaticString) throws(SystemError) {
        guard number >= 0 else { throw SystemError(call) }
        self.number = number
    }

    deinit {
        close(number)
    }

    consuming func release() -> Int32 {
        let number = number
        discard self
        return number
    }
}

/// A failed system call, with its errno.
package struct SystemError: Error, CustomStringConvertible {
    let call: StaticString
    let code: Int32
    /// What it was called for, such as a path; nil if the call says it.
    let subject: String?

    /// Reads errno, so create it right after the call.
    init(_ call: StaticString, of subject: String? = nil) {
        self.code = errno
        self.call = call
        self.subject = subject
    }

    package var description: String {
        "\(call)\(subject.map { " \($0)" } ?? ""): \(Self.text(code))"
    }

    /// The C library's text for an errno (`strerror`).
    static func text(_ code: Int32) -> String {
        unsafe String(cString: strerror(code))
    }
}

/// Wakes a thread that waits for it (eventfd(2)). Signals that were not taken yet count as one.
struct WakeSignal: ~Copyable, Sendable {
    private let descriptor: OwnedDescriptor

    init() throws(SystemError) {
        descriptor = try OwnedDescriptor(taking: clinux_eventfd(), from: "eventfd")
    }

    var number: Int32 { descriptor.number }

    /// Wakes the waiting thread, or ends its next wait at once.
    borrowing func notify() {
        var one: UInt64 = 1
        // EAGAIN means that the counter is full, so there is a signal.
        _ = write(descriptor.number, &one, 8)
    }

    /// Takes all signals, so that the next wait blocks.
    borrowing func take() {
        var count: UInt64 = 0
        _ = read(descriptor.number, &count, 8)
    }

    /// Waits for a signal and takes it, for at most `milliseconds`; negative: no limit.
    borrowing func wait(milliseconds: Int) {
        var request = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
        if poll(&request, 1, Int32(clamping: max(-1, milliseconds))) > 0 { take() }
    }
}

/// Why a daemon cannot start, for the operator.
package struct StartFailure: Error, CustomStringConvertible {
    package let description: String
}
