import BlobClient

/// Connections on which one command does the same for many notifications, with many requests on
/// their way at once.
///
/// Requests of one connection follow one another, each change with a sync of its own. Those of several
/// connections that are at the daemon at the same time share one. So each connection has one request, all of them
/// are sent but their last bytes, and then these: the daemon meets all requests at once.
final class ConnectionPool {
    /// Connections for changes: 10,000 changes take about 60 syncs. For fetching one is enough.
    static let changeCountMax = 512
    /// How long a further connection may take. A daemon that has all the connections it takes leaves it waiting.
    private static let connectMilliseconds = 500

    private final class Member {
        var connection: BlobConnection

        init(_ connection: consuming BlobConnection) {
            self.connection = connection
        }
    }

    private let members: [Member]
    /// The most requests that are unanswered.
    private let inFlightMax: Int
    /// Further requests are sent when no more than these are unanswered. One connection is never idle.
    private let refillCount: Int

    /// Makes connections in addition to `first`: `count` together, as far as `inFlightMax`, the most requests that
    /// may be unanswered, has work for them. Where the daemon or this process takes fewer, these do the work.
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
