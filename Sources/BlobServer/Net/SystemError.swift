import Glibc

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
