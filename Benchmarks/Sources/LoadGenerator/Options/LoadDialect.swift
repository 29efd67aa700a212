internal import Glibc

/// The protocol of one kind of server: the bytes of a fetch, the bytes of a publish, and where the body of an answer
/// begins and ends.
///
/// The generator does everything else: it manages connections, sends the bodies of publishes from its own memory,
/// verifies every body that it receives, and measures latency. Requests are composed once per payload, before the run.
/// During the run only ``answerHead(in:to:)`` is called, once per answer: it must not allocate for an expected answer.
///
/// The bytes on a connection, without gaps:
///
///     request of a fetch      bytes of appendFetch
///     request of a publish    bytes of appendPublish · body · publishTrailer
///     answer                  head · body · trailer
///
/// Answers must arrive in the order of their requests.
public protocol LoadDialect: Sendable {
    /// A short name for tables, such as `binary` or `memcached`.
    var name: String { get }

    /// The first message of every connection. Its answer (``RequestKind/opening``) is awaited before anything else is
    /// sent. Empty: none.
    var opening: [UInt8] { get }

    /// Appends a whole request for the payload stored under `item.id`.
    func appendFetch(of item: LoadItem, to bytes: inout [UInt8]) throws(LoadFailure)

    /// Appends a request that stores `item.byteCount` bytes under `item.id`, up to its body.
    func appendPublish(of item: LoadItem, to bytes: inout [UInt8]) throws(LoadFailure)

    /// Appends a request that asks for the publishes to an owner: for all of them, or, after an answer that told of one,
    /// for those that follow it. Appends nothing if the first request is enough. Called in runs with
    /// ``LoadOptions/watchers``, once for each event.
    ///
    /// - Parameters:
    ///   - owner: the owner.
    ///   - answer: what was received since the last request, up to the id of the publish or further; nil: nothing was
    ///     asked yet. It may begin with the line end of the answer before.
    ///   - bytes: the request is appended to these.
    /// - Throws: if the dialect has no events, as by default.
    func appendWatch(
        of owner: String, after answer: RawSpan?, to bytes: inout [UInt8]
    ) throws(LoadFailure)

    /// What follows the body of a publish, such as the CR LF of memcached and RESP, or nothing. At most
    /// ``LoadLimits/publishTrailerByteCountMax`` bytes.
    var publishTrailer: [UInt8] { get }

    /// Reads the head at the start of an answer.
    ///
    /// `bytes` is everything received since the end of the previous answer: part of a head, a whole head, or a head
    /// with a body and further answers. It is only valid during the call. The method may be called several times for
    /// one head, each time from its start.
    ///
    /// - Returns: the sizes of the answer's pieces; nil if the head is incomplete, which is only allowed for fewer than
    ///   ``LoadLimits/answerHeadByteCountMax`` bytes.
    /// - Throws: a failure that quotes the answer if it is not a success: not found, an error, or not this protocol. It
    ///   ends the run without figures.
    func answerHead(
        in bytes: RawSpan, to kind: RequestKind
    ) throws(LoadFailure) -> AnswerHead?
}

extension LoadDialect {
    /// No first message.
    public var opening: [UInt8] { [] }

    /// No trailer.
    public var publishTrailer: [UInt8] { [] }

    /// No events.
    public func appendWatch(
        of owner: String, after answer: RawSpan?, to bytes: inout [UInt8]
    ) throws(LoadFailure) {
        throw LoadFailure(.options, "the dialect \(name) has no events")
    }
}

/// The kind of a request.
public enum RequestKind: UInt8, Sendable, Hashable, BitwiseCopyable {
    /// The dialect's first message on a connection. Its answer's body is ignored.
    case opening
    /// Fetches a payload: the answer's body must be the payload's bytes.
    case fetch
    /// Stores a body. The body of its answer, if any, is ignored.
    case publish
}

/// The sizes of an answer's pieces, in bytes.
public struct AnswerHead: Sendable, Hashable {
    /// The bytes before the body.
    public var headByteCount: Int
    /// The bytes of the body: for a fetch, exactly the payload.
    public var bodyByteCount: Int
    /// Bytes between the body and the next answer, such as memcached's CR LF `END` CR LF. They are skipped.
    public var trailerByteCount: Int

    /// Creates a head with these sizes. A negative size ends the run with a failure.
    public init(headByteCount: Int, bodyByteCount: Int, trailerByteCount: Int = 0) {
        self.headByteCount = headByteCount
        self.bodyByteCount = bodyByteCount
        self.trailerByteCount = trailerByteCount
    }
}

/// One of the payloads of a run, for a dialect.
public struct LoadItem: Sendable, Hashable {
    /// Its number, starting at 0, different for each request of a run.
    public var index: Int
    /// Its key: at most 100 ASCII letters, digits and `-`, so that no dialect has to encode it. Equal sizes and seeds
    /// give equal keys.
    public var id: String
    /// The number of bytes in its body.
    public var byteCount: Int
    /// The user it is published to; nil: none.
    public var owner: String?

    /// Creates an item.
    public init(index: Int, id: String, byteCount: Int, owner: String? = nil) {
        self.index = index
        self.id = id
        self.byteCount = byteCount
        self.owner = owner
    }
}

/// Why a run has no figures: invalid options, a server that refused, a wrong byte.
public struct LoadFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure, for exit codes.
    public enum Reason: Sendable, Hashable {
        /// An option is out of bounds.
        case options
        /// No server listens at the socket.
        case noServer
        /// The server refused a request, closed the connection, or sent something that the dialect cannot read.
        case server
        /// A body differs from the requested payload.
        case wrongBytes
        /// A system call failed.
        case system
        /// ``LoadOptions/isStopped`` said so.
        case stopped
    }

    /// The kind of failure.
    public var reason: Reason
    /// One sentence with the values, for display.
    public var description: String

    /// Creates a failure with this description.
    public init(_ reason: Reason, _ description: String) {
        self.reason = reason
        self.description = description
    }
}

/// Helpers for dialects, to read answers in place, without allocation. A position beyond the end finds nothing.
extension RawSpan {
    /// The position of the next line feed from `start` on; nil if there is none yet. Uses `memchr`, which compares at
    /// least 32 bytes at once.
    public func lineFeed(from start: Int) -> Int? {
        guard start >= 0, start < byteCount else { return nil }
        // The span's memory is valid during the call, and the pointer found is within it.
        return withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress,
                let found = memchr(base + start, 0x0A, bytes.count - start)
            else { return nil }
            return UnsafeRawPointer(found) - base
        }
    }

    /// Whether the bytes at `offset` are those of `text`; false if there are fewer.
    @inlinable
    public func has(_ text: StaticString, at offset: Int = 0) -> Bool {
        guard offset >= 0, offset <= byteCount, byteCount - offset >= text.utf8CodeUnitCount
        else { return false }
        return text.withUTF8Buffer { wanted in
            for index in 0..<wanted.count
            where unsafeLoad(fromByteOffset: offset + index, as: UInt8.self) != wanted[index] {
                return false
            }
            return true
        }
    }

    /// The decimal number whose first digit is at `offset`, and the position after its last digit.
    ///
    /// - Returns: nil if there is no digit, or more than 18, which no length needs.
    @inlinable
    public func decimal(at offset: Int) -> (value: Int, end: Int)? {
        guard offset >= 0 else { return nil }
        var value = 0
        var index = offset
        while index < byteCount {
            let digit = unsafeLoad(fromByteOffset: index, as: UInt8.self) &- 0x30
            if digit > 9 { break }
            if index - offset == 18 { return nil }
            value = value * 10 + Int(digit)
            index += 1
        }
        return index > offset ? (value, index) : nil
    }

    /// At most 80 bytes, up to the next control character, for a failure's message. Copies.
    public func excerpt(from offset: Int = 0) -> String {
        var text: [UInt8] = []
        var index = max(0, offset)
        while index < byteCount, text.count < 80 {
            let byte = unsafeLoad(fromByteOffset: index, as: UInt8.self)
            if byte < 0x20 || byte == 0x7F { break }
            text.append(byte)
            index += 1
        }
        return String(decoding: text, as: UTF8.self)
    }
}
