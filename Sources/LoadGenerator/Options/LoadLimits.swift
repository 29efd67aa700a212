/// Every limit of the load generator, in one place.
public enum LoadLimits {
    /// Connections of a run.
    public static let connections = 1...8_192
    /// Requests in flight on one connection.
    public static let depth = 1...1_024
    /// Bytes in one payload.
    public static let payloadByteCount = 1...(64 << 20)
    /// Distinct payloads of a run.
    public static let payloadCount = 1...100_000
    /// What all payloads of a run together may take in the server, in bytes, where their number is
    /// not given.
    public static let storedByteCountMax = 256 << 20
    /// Distinct payloads of a run, where their number is not given.
    public static let payloadCountUsual = 16...1_000
    /// How long storing waits without an answer, in nanoseconds.
    static let storeNanosecondsWithoutAnswerMax: Int64 = 60_000_000_000
    /// Seconds that count.
    public static let seconds = 0.01...86_400.0
    /// Seconds before they count.
    public static let warmUpSeconds = 0.0...3_600.0
    /// Requests a second in a run of fixed rate.
    public static let rate = 1.0...50_000_000.0
    /// The number of a core.
    public static let core = 0...1_023
    /// Requests of a fixed rate that were never sent and whose wait is recorded all the same.
    public static let overdueRecordedMax = 10_000_000
    /// Percent of the requests that fetch.
    public static let readPercent = 0...100
    /// Bytes in the head of one answer.
    public static let answerHeadByteCountMax = 32 << 10
    /// Bytes in a fetch, and in a publish before its body.
    public static let requestByteCountMax = 8_192
    /// Bytes behind the body of a publish.
    public static let publishTrailerByteCountMax = 64
    /// Bytes that one `recv` may bring.
    public static let receiveByteCount = (4 << 10)...(16 << 20)
    /// The same where it is not given: more than a Unix socket usually holds, and less than a core's
    /// second-level cache. A payload of 1 MiB costs the generator a tenth more with 64 KiB, and no
    /// less with 1 MiB.
    public static let receiveByteCountUsual = 256 << 10
    /// Servers' processes whose time is counted.
    public static let serverProcessCountMax = 64
}
