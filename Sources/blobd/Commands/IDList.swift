import BlobClient

/// Ids from a file, one a line, for commands that do the same for many notifications.
enum IDList {
    /// The largest list, in bytes.
    static let byteCountMax: UInt64 = 1 << 28

    /// The ids in `path` (`-`: standard input), in their order. Empty lines are skipped.
    static func read(_ path: String) throws -> [String] {
        let file = try PayloadFile(path, byteCountMax: byteCountMax)
        guard file.byteCount <= byteCountMax else {
            throw CommandFailure(
                .badUsage,
                "\(path) is \(file.byteCount) bytes long; the limit for a list is \(byteCountMax)")
        }
        let bytes = try file.readAll()
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(.badUsage, "\(path) is not UTF-8")
        }
        return text.utf8.split(separator: UInt8(ascii: "\n")).map {
            String(decoding: $0, as: UTF8.self)
        }
    }
}

extension BlobConnection {
    /// Does something for every id over this one connection, many at a time: `queue` queues the request for
    /// one, `take` gets its outcome, in order. At most `inFlightMax` are unanswered.
    mutating func forEach(
        _ ids: [String], inFlightMax: Int = .max,
        queue: (inout BlobConnection, String) throws -> Void,
        sink: (PayloadInfo, RawSpan) -> Bool = { _, _ in true },
        take: (String, Answer.Outcome) throws -> Void
    ) throws {
        let window = max(1, min(inFlightMax, daemon.requestsInFlightMax))
        var asked = 0
        var answered = 0
        while answered < ids.count {
            while asked < ids.count, unansweredCount < window {
                try queue(&self, ids[asked])
                asked += 1
            }
            // Half of the window is answered before more is asked, so that requests travel together and
            // the daemon finds several to commit at once.
            repeat {
                let answer = try receive(sink)
                try take(ids[answered], answer.outcome)
                answered += 1
            } while unansweredCount > window / 2
        }
    }
}
