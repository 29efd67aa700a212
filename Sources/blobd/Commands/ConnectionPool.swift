import BlobClient
import BlobProtocol
import Notifications

/// Connections on which one command makes the same call for many notifications.
///
/// Changes on one connection are applied one after another, each with its own sync. Simultaneous changes on different
/// connections share one. So each connection first sends one request without its last byte, and then all send their
/// last bytes: the daemon gets all changes at once.
final class ConnectionPool {
    /// Connections for changes: 10,000 changes take about 60 syncs. One is enough for fetching.
    static let changeCountMax = 512
    /// How long another connection may take. A daemon at its limit does not accept it.
    private static let connectMilliseconds = 500

    private final class Member {
        var connection: BlobConnection

        init(_ connection: consuming BlobConnection) {
            self.connection = connection
        }
    }

    private let members: [Member]
    private let inFlightMax: Int
    /// More requests are sent when at most this many are unanswered, so that a single connection is never idle.
    private let refillCount: Int

    /// Adds connections to `first`: `count` in total, but at most `inFlightMax`, the limit of unanswered requests. If
    /// the daemon or this process allows fewer, those do the work.
    init(
        _ first: consuming BlobConnection, count: Int, inFlightMax: Int = .max,
        _ options: SocketOptions
    ) throws {
        let requestsInFlightMax = first.daemon.requestsInFlightMax
        var members = [Member(first)]
        while members.count < min(count, inFlightMax),
            let next = try options.connectAgain(within: Self.connectMilliseconds)
        {
            members.append(Member(next))
        }
        self.members = members
        self.inFlightMax =
            members.count == 1 ? min(inFlightMax, requestsInFlightMax) : members.count
        refillCount = members.count == 1 ? self.inFlightMax / 2 : 0
    }

    /// Calls `queue` to queue a request for every id, and `take` with the outcomes in the same order. Payloads go to
    /// `sink`.
    func forEach(
        _ ids: [String], queue: (inout BlobConnection, String) throws -> Void,
        sink: (PayloadInfo, RawSpan) -> Bool = { _, _ in true },
        take: (String, Answer.Outcome) throws -> Void
    ) throws {
        var asked = 0
        var answered = 0
        while answered < ids.count {
            while asked < ids.count, asked - answered < inFlightMax {
                let member = members[asked % members.count]
                try queue(&member.connection, ids[asked])
                if members.count > 1 { try member.connection.sendAhead() }
                asked += 1
            }
            for member in members { try member.connection.flush() }
            repeat {
                let answer = try members[answered % members.count].connection.receive(sink)
                try take(ids[answered], answer.outcome)
                answered += 1
            } while asked - answered > refillCount
        }
    }
}

/// Ids from a file, one per line, for commands that process many notifications.
enum IDList {
    /// The ids in `path` (`-`: standard input), in order. Empty lines are skipped. Every id is checked, so that an
    /// invalid one is found before anything is done.
    static func read(_ path: String) throws -> [String] {
        let bytes = try InputFile.bytes(of: path, .lines("list"))
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(.badUsage, "\(path) is not UTF-8")
        }
        var ids: [String] = []
        // Split as bytes: CR LF is one Character.
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() where !line.isEmpty {
            let id = Array(line)
            do {
                try TextKind.id.check(id.span.bytes)
            } catch {
                throw CommandFailure(.badUsage, "\(path), line \(index + 1): \(error.detail)")
            }
            ids.append(String(decoding: id, as: UTF8.self))
        }
        return ids
    }
}
