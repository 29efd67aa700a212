internal import Glibc

/// A failed system call, with its errno.
package struct SystemError: Error, CustomStringConvertible {
    package let call: StaticString
    package let code: Int32
    /// What it was called for, such as a path; nil if the call says it.
    package let subject: String?

    /// Reads errno, so create it right after the call.
    package init(_ call: StaticString, of subject: String? = nil) {
        self.code = errno
        self.call = call
        self.subject = subject
    }

    package var description: String {
        "\(call)\(subject.map { " \($0)" } ?? ""): \(Self.text(code))"
    }

    /// The C library's text for an errno (`strerror`).
    package static func text(_ code: Int32) -> String {
        unsafe String(cString: strerror(code))
    }
}

extension StoreError {
    package init(_ error: SystemError) {
        self = .io(operation: "\(error.call)", errno: error.code)
    }
}
