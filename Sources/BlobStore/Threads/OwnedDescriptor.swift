internal import Glibc

/// A file descriptor with one owner, closed when the owner is destroyed (`close`).
package struct OwnedDescriptor: ~Copyable, Sendable {
    package let number: Int32

    /// Takes over a descriptor that a system call has just returned. Throws errno if the number is negative.
    package init(taking number: Int32, from call: StaticString) throws(SystemError) {
        guard number >= 0 else { throw SystemError(call) }
        self.number = number
    }

    deinit {
        close(number)
    }

    package consuming func release() -> Int32 {
        let number = number
        discard self
        return number
    }
}
