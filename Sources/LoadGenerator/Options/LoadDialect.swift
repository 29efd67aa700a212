/// How to speak to one kind of server: which bytes ask for a payload, which bytes store one, and
/// where an answer's body begins and ends.
///
/// The generator does everything else: it keeps the connections, sends the bodies of publishes from
/// its own memory, compares every body that comes with what it should be, and takes the times. A
/// dialect is asked for the bytes of a request once per payload, before the run; during the run only
/// ``answerHead(in:to:)`` is called, once per answer, so nothing in it may allocate where the answer
/// is the expected one.
///
/// A fetch and a publish look like this on the connection, in both directions without gaps:
///
///     request of a fetch      bytes of appendFetch
///     request of a publish    bytes of appendPublish · body · publishTrailer
///     answer                  head · body · trailer
///
/// Answers must come in the order of their requests.
public protocol LoadDialect: Sendable {
    /// A short name for tables, such as `binary` or `memcached`.
    var name: String { get }

    /// What must be said first on every connection, and is answered once (``RequestKind/opening``)
    /// before anything else is sent; empty when there is nothing to say.
    var opening: [UInt8] { get }

    /// Appends a whole request for the payload stored under `item.id`.
    func appendFetch(of item: LoadItem, to bytes: inout [UInt8]) throws(LoadFailure)

    /// Appends everything of a request to store `item.byteCount` bytes under `item.id` that comes
    /// before the body.
    func appendPublish(of item: LoadItem, to bytes: inout [UInt8]) throws(LoadFailure)

    /// What follows the body of a publish, such as the CR LF of memcached and RESP; empty when
    /// nothing does. At most ``LoadLimits/publishTrailerByteCountMax`` bytes.
    var publishTrailer: [UInt8] { get }

    /// Reads the head at the start of an answer.
    ///
    /// `bytes` is everything that has come since the end of the answer before: part of a head, a
    /// whole one, or a head with a body and further answers behind it. It is valid during the call
    /// only. A head may be looked at several times while it is coming, from its start each time.
    ///
    /// - Returns: the sizes of the answer's pieces; nil when the head is not whole yet, which may
    ///   be said only while fewer than ``LoadLimits/answerHeadByteCountMax`` bytes are there.
    /// - Throws: a failure that says in words what came, when it is not the success that a request
    ///   of this kind should get: not found, an error, or nothing that this dialect can read. It
    ///   ends the run without a figure.
    func answerHead(
        in bytes: RawSpan, to kind: RequestKind
    ) throws(LoadFailure) -> AnswerHead?
}

extension LoadDialect {
    /// Nothing is said first.
    public var opening: [UInt8] { [] }

    /// Nothing follows the body.
    public var publishTrailer: [UInt8] { [] }
}

/// What a request asks for.
public enum RequestKind: UInt8, Sendable, Hashable, BitwiseCopyable {
    /// The dialect's first message on a connection. Its answer's body is not looked at.
    case opening
    /// A stored payload: the answer's body must be the payload's bytes.
    case fetch
    /// To store a body. The body of its answer, if there is one, is not looked at.
    case publish
}

/// The sizes of an answer's pieces, in bytes.
public struct AnswerHead: Sendable, Hashable {
    /// From the answer's first byte to the body's.
    public var headByteCount: Int
    /// The body: for a fetch exactly the payload.
    public var bodyByteCount: Int
    /// What stands between the body and the next answer, such as memcached's CR LF `END` CR LF.
    /// It is skipped.
    public var trailerByteCount: Int

    /// An answer with these sizes. A negative one ends the run with a failure.
    public init(headByteCount: Int, bodyByteCount: Int, trailerByteCount: Int = 0) {
        self.headByteCount = headByteCount
        self.bodyByteCount = bodyByteCount
        self.trailerByteCount = trailerByteCount
    }
}

/// One of the payloads of a run, as a dialect sees it.
public struct LoadItem: Sendable, Hashable {
    /// Which one: from 0 up, and distinct for each request that is composed in a run.
    public var index: Int
    /// Where it is stored: ASCII letters, digits and `-` only, at most 100 bytes, so that every
    /// dialect can carry it as it is. The same for the same sizes and seed.
    public var id: String
    /// The bytes in its body.
    public var byteCount: Int

    /// An item with these values.
    public init(index: Int, id: String, byteCount: Int) {
        self.index = index
        self.id = id
        self.byteCount = byteCount
    }
}

/// Why a run has no figures: bad options, a server that refused, a wrong byte.
public struct LoadFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// Whose fault it is, for exit codes.
    public enum Reason: Sendable, Hashable {
        /// An option is out of its bounds.
        case options
        /// Nobody listens at the socket.
        case noServer
        /// The server refused, closed, or sent what the dialect cannot read.
        case server
        /// A body was not the payload that was asked for.
        case wrongBytes
        /// A system call failed.
        case system
    }

    /// Whose fault it is.
    public var reason: Reason
    /// What happened, in words for people, with the values that it is about.
    public var description: String

    /// A failure in these words.
    public init(_ reason: Reason, _ description: String) {
        self.reason = reason
        self.description = description
    }
}
