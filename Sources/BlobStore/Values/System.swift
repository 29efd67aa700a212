internal import Glibc

/// An `errno` in words.
func systemMessage(_ number: Int32) -> String {
    guard let words = strerror(number) else { return "error \(number)" }
    return "\(String(cString: words)) (\(number))"
}

extension StoreError {
    /// The last failed system call. A disk without room is ``full``, whatever was being written.
    static func system(_ operation: String) -> StoreError { system(operation, errno) }

    /// The same with the number that the call returned. A file over the size limit of the process
    /// (`RLIMIT_FSIZE`) is one without room, where its signal, SIGXFSZ, is ignored.
    static func system(_ operation: String, _ number: Int32) -> StoreError {
        switch number {
        case ENOSPC, EDQUOT, EFBIG: .full
        default: .io(operation: operation, errno: number)
        }
    }
}
