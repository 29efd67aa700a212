import BlobClient

/// Connections on which one command does the same for many notifications, with many requests on
/// their way at once.
///
/// Requests of one connection follow one another, each change with a sync of its own. Those of
/// several connections are committed together: so many connections make so many changes with one sync.
final class ConnectionPool {
    /// Connections for changes, which wait for syncs: 10,000 changes take fewer than 100 syncs. For fetching one
    /// is enough.
    static let changeCountMax = 512
    /// How long a further connection may take. A daemon that has all the connections it takes leaves it waiting.
    static let connectMilliseconds = 500

    private final class Member {
        var connection: BlobConnection

        init(_ connection: consuming BlobConnection) {
            self.connection = connection
        }
    }

    private let members: [Member]
    private let inFlightMax: Int

    /// Makes connections in addition to `first`: `count` together, as far as `inFlightMax`, the most requests that
    /// may be unanswered, has work for them. Where the daemon or this process takes fewer, these do the work.
    init(
        _ first: consuming BlobConnection, count: Int, inFlightMax: Int = .max,
        _ options: SocketOptions
    ) throws {
        let daemon = first.daemon
        var members = [Member(first)]
        while members.count < min(count, inFlightMax) {
            guard let next = try options.connectAgain(within: Self.connectMilliseconds) else {
                break
            }
            members.append(Member(next))
        }
        self.members = members
        // Each connection has the next request waiting at the daemon while it waits for the one before.
        self.inFlightMax = max(
            1, min(inFlightMax, members.count == 1 ? daemon.requestsInFlightMax : 2 * members.count)
        )
    }

    /// Lets `queue` queue a request for every id, and `take` take the outcomes in the same order.
    /// Payloads go to `sink`. Ends at the first thing that is thrown.
    func forEach(
        _ ids: [String], queue: (inout BlobConnection, String) throws -> Void,
        sink: (PayloadInfo, RawSpan) -> Bool = { _, _ in true },
        take: (String, Answer.Outcome) throws -> Void
    ) throws {
        var asked = 0
        var answered = 0
        while answered < ids.count {
            while asked < ids.count, asked - answered < inFlightMax {
                try queue(&members[asked % members.count].connection, ids[asked])
                asked += 1
            }
            for member in members { try member.connection.flush() }
            // Half is answered before more is asked, so that requests travel and are committed
            // together.
            repeat {
                let answer = try members[answered % members.count].connection.receive(sink)
                try take(ids[answered], answer.outcome)
                answered += 1
            } while asked - answered > inFlightMax / 2
        }
    }
}
