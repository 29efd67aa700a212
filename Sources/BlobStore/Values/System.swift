internal import Glibc

/// An `errno` in words.
func systemMessage(_ number: Int32) -> String {
    guard let words = strerror(number) else { return "error \(number)" }
    return "\(String(cString: words)) (\(number))"
}

extension StoreError {
    /// The last failed system call. A disk without room is ``full``, whatever was being written.
    static func system(_ operation: String) -> StoreError {
        let number = errno
        if number == ENOSPC || number == EDQUOT { return .full }
        return .io(operation: operation, errno: number)
    }
}
