import Bytes
import Notifications

/// The limits of the wire that the protocol's version determines.
public enum WireLimits {
    // Names and texts, both dialects.

    /// The longest notification id, in bytes of UTF-8.
    public static var idByteCountMax: Int { TextKind.id.byteCountMax }
    /// The longest media type, including parameters, in bytes.
    public static var mediaTypeByteCountMax: Int { TextKind.mediaType.byteCountMax }
    /// The latest expiry that RFC 3339 can represent, in milliseconds since 1970.
    public static var expiryMillisecondsMax: Int64 { RFC3339.millisecondsMax }
    /// The latest expiry of a link or token, in seconds since 1970: the end of the year 9999. A later one is a mistake,
    /// most often milliseconds.
    public static var linkExpirySecondsMax: Int64 { expiryMillisecondsMax / 1_000 }
    /// The most notifications in one page of a list.
    public static var listLimitMax: Int { PageLimits.entryCountMax }
    /// The most changes in one page of a feed.
    public static var feedPageLimitMax: Int { PageLimits.entryCountMax }
    /// The changes in one page of a feed, if the reader does not request a number.
    public static let feedPageLimitDefault = 100
    /// The longest wait for a change, in seconds.
    public static let waitSecondsMax = 60

    // The limits of devices, by type of attachment (`DeviceProfile`). Apple states 10 MB, 5 MB and 50 MB. One MB is
    // 1,000,000 bytes here, so that accepted attachments are within either meaning.

    /// The largest image of the profile `ios`, in bytes.
    public static let iosImageByteCountMax = 10_000_000
    /// The largest audio of the profile `ios`, in bytes.
    public static let iosAudioByteCountMax = 5_000_000
    /// The largest video of the profile `ios`, in bytes.
    public static let iosVideoByteCountMax = 50_000_000
    /// The largest image of the profile `android`, in bytes: the limit of FCM, stated as 1 MB.
    public static let androidImageByteCountMax = 1_000_000

    // Binary protocol.

    /// The largest head of a frame, in bytes, after its 24-byte header.
    public static let frameHeadByteCountMax = 8_192
    /// The largest body of a ping, in bytes.
    public static let pingBodyByteCountMax = 1_024
    /// The maximum number of unanswered requests on a connection. Further ones are not read.
    public static let requestsInFlightMax = 64
    /// The longest target of a call, path and query together, in bytes.
    public static let callTargetByteCountMax = 8_000
    /// The longest text for a daemon's version, in bytes.
    public static let serverVersionByteCountMax = 255

    // HTTP.

    /// The longest request line, in bytes, without its line end. Longer: 414.
    public static let requestLineByteCountMax = 8_192
    /// The largest header section, including the empty line, in bytes. Larger: 431.
    public static let headerSectionByteCountMax = 16_384
    /// The most field lines in one request. More: 431.
    public static let fieldLineCountMax = 100
    /// The most `If-None-Match` field lines in one request, and the most `If-Match` ones. More: 431.
    public static let conditionLineCountMax = 4
    /// The most empty lines before a request line (RFC 9112, section 2.2). More: 400.
    public static let leadingEmptyLineCountMax = 4
    /// The longest line that starts a chunk, with its extensions and without its end, in bytes. Longer: 400.
    public static let chunkLineByteCountMax = 256
    /// The largest trailer section after the last chunk, in bytes. Larger: 431.
    public static let trailerSectionByteCountMax = 4_096
    /// The most parameters in a query. More: 400.
    public static let queryParameterCountMax = 16

    // Documents, both dialects.

    /// The largest JSON document, in bytes. Larger: 413.
    public static let documentByteCountMax = 65_536
    /// The largest JSON document that a device sends with a token, in bytes.
    public static let deviceDocumentByteCountMax = 4_096
    /// The largest batch, in bytes. Larger: 413.
    public static let batchByteCountMax = 8 << 20
    /// The most lines of a batch. More: 413.
    public static let batchLineCountMax = 1_000
    /// The maximum size of a multipart body besides the bytes of its files, in bytes.
    public static let multipartExtraByteCountMax = 256 << 10
    /// The longest boundary of a multipart body, in bytes. Longer: 400.
    public static let boundaryByteCountMax = 70
    /// The field lines of a part's head, in bytes, with their line ends. Larger: 400.
    public static let multipartHeadByteCountMax = 4_096
    /// The most field lines in the head of a part. More: 400.
    public static let multipartHeadLineCountMax = 16
    /// The most blanks after a boundary, in bytes. More: 400.
    public static let multipartBlankByteCountMax = 64
    /// The most bytes before the first delimiter, and after the last one. More: 400.
    public static let multipartPreambleByteCountMax = 4_096
}
