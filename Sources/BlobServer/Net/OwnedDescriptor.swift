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
