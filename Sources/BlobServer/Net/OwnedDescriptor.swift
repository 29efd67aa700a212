import Glibc

/// A file descriptor with one owner, closed when the owner is destroyed (`close`).
struct OwnedDescriptor: ~Copyable, Sendable {
    /// The descriptor's number, good as long as this value is.
    let number: Int32

    /// Takes over a descriptor that a system call has just returned.
    ///
    /// - Throws: ``SystemError`` with the call's name when the number is negative, as calls that
    ///   failed return.
    init(taking number: Int32, from call: StaticString) throws(SystemError) {
        guard number >= 0 else { throw SystemError(call) }
        self.number = number
    }

    deinit {
        close(number)
    }

    /// Gives the descriptor away: it is no longer closed with this value.
    consuming func release() -> Int32 {
        let number = number
        discard self
        return number
    }
}

/// A system call that failed: which one, and what errno said.
package struct SystemError: Error, CustomStringConvertible {
    /// The call's name.
    let call: StaticString
    /// The number in errno after the call.
    let code: Int32

    /// Reads errno, so it comes right after the call.
    init(_ call: StaticString) {
        self.code = errno
        self.call = call
    }

    package var description: String { "\(call): \(Self.text(code))" }

    /// The words of the C library for a number (`strerror_r`).
    static func text(_ code: Int32) -> String {
        unsafe String(cString: strerror(code))
    }
}
