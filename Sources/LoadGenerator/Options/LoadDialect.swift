internal import Glibc

/// The protocol of one kind of server: the bytes of a fetch, the bytes of a publish, and where an
/// answer's body begins and ends.
///
/// The generator does everything else: it keeps the connections, sends the bodies of publishes from its
/// own memory, verifies every body that it receives, and measures latency. Requests are composed once
/// per payload, before the run. During the run only ``answerHead(in:to:)`` is called, once per answer:
/// it must not allocate for an expected answer.
///
/// The bytes on a connection, without gaps:
///
///     request of a fetch      bytes of appendFetch
///     request of a publish    bytes of appendPublish · body · publishTrailer
///     answer                  head · body · trailer
///
/// Answers must come in the order of their requests.
public protocol LoadDialect: Sendable {
    /// A short name for tables, such as `binary` or `memcached`.
    var name: String { get }

    /// The first message of every connection. It gets one answer (``RequestKind/opening``) before
    /// anything else is sent. Empty: none.
    var opening: [UInt8] { get }

    /// Appends a whole request for the payload stored under `item.id`.
    func appendFetch(of item: LoadItem, to bytes: inout [UInt8]) throws(LoadFailure)

    /// Appends a request that stores `item.byteCount` bytes under `item.id`, up to its body.
    func appendPublish(of item: LoadItem, to bytes: inout [UInt8]) throws(LoadFailure)

    /// What follows the body of a publish, such as the CR LF of memcached and RESP; empty when
    /// nothing does. At most ``LoadLimits/publishTrailerByteCountMax`` bytes.
    var publishTrailer: [UInt8] { get }

    /// Reads the head at the start of an answer.
    ///
    /// `bytes` is everything received since the end of the previous answer: part of a head, a whole
    /// head, or a head with a body and further answers. It is valid during the call only. The method may
    /// be called several times for one head, each time from its start.
    ///
    /// - Returns: the sizes of the answer's pieces; nil when the head is incomplete, which is allowed
    ///   only for fewer than ``LoadLimits/answerHeadByteCountMax`` bytes.
    /// - Throws: a failure that quotes the answer, when it is not a success: not found, an error, or
    ///   not this protocol. It ends the run without figures.
    func answerHead(
        in bytes: RawSpan, to kind: RequestKind
    ) throws(LoadFailure) -> AnswerHead?
}

extension LoadDialect {
    /// No first message.
    public var opening: [UInt8] { [] }

    /// No trailer.
    public var publishTrailer: [UInt8] { [] }
}

/// What a request asks for.
public enum RequestKind: UInt8, Sendable, Hashable, BitwiseCopyable {
    /// The dialect's first message on a connection. Its answer's body is ignored.
    case opening
    /// A stored payload: the answer's body must be the payload's bytes.
    case fetch
    /// To store a body. The body of its answer, if any, is ignored.
    case publish
}

/// The sizes of an answer's pieces, in bytes.
public struct AnswerHead: Sendable, Hashable {
    /// From the answer's first byte to the body's.
    public var headByteCount: Int
    /// The body: for a fetch exactly the payload.
    public var bodyByteCount: Int
    /// Bytes between the body and the next answer, such as memcached's CR LF `END` CR LF. They are
    /// skipped.
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
    /// Its number, from 0 up, different for each request of a run.
    public var index: Int
    /// Its key: at most 100 ASCII letters, digits and `-`, so that no dialect has to encode it. The same
    /// for the same sizes and seed.
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
    /// What failed, for exit codes.
    public enum Reason: Sendable, Hashable {
        /// An option is out of its bounds.
        case options
        /// No server listens at the socket.
        case noServer
        /// The server refused, closed, or sent what the dialect cannot read.
        case server
        /// A body was not the payload that was asked for.
        case wrongBytes
        /// A system call failed.
        case system
    }

    /// What failed.
    public var reason: Reason
    /// One sentence for people, with the values.
    public var description: String

    /// A failure with this description.
    public init(_ reason: Reason, _ description: String) {
        self.reason = reason
        self.description = description
    }
}

/// Reading the text of answers in place, without allocation, for dialects. A position beyond the end finds nothing.
extension RawSpan {
    /// The position of the next line feed from `start` on; nil when there is none yet. Uses `memchr`, which compares
    /// 32 bytes or more at once.
    public func lineFeed(from start: Int) -> Int? {
        guard start >= 0, start < byteCount else { return nil }
        // The span's memory is there during the call, and the pointer found lies in it.
        return withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress,
                let found = memchr(base + start, 0x0A, bytes.count - start)
            else { return nil }
            return UnsafeRawPointer(found) - base
        }
    }

    /// Whether the bytes at `offset` are those of `text`; false also when there are fewer.
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
    /// - Returns: nil when there is no digit, or more than 18, which no length has.
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

    /// Up to 80 bytes up to the next control character, for a failure's message. Copies.
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
