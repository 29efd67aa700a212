import Glibc
package import Logging

extension LogFormat {
    /// A handler for a logger.
    ///
    /// - Parameter label: the logger's name.
    package func handler(_ label: String) -> any LogHandler {
        switch self {
        case .auto: (Self.isJournal ? LogFormat.journal : .text).handler(label)
        case .text: StreamLogHandler.standardError(label: label)
        case .json: JSONLogHandler()
        case .journal: JournalLogHandler()
        }
    }

    /// Whether standard error goes to the journal: `$JOURNAL_STREAM` has its device and inode
    /// (systemd.exec(5)).
    private static var isJournal: Bool {
        guard let text = getenv("JOURNAL_STREAM") else { return false }
        var status = stat()
        guard fstat(STDERR_FILENO, &status) == 0 else { return false }
        return String(cString: text) == "\(status.st_dev):\(status.st_ino)"
    }
}
