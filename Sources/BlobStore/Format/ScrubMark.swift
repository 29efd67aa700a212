internal import Bytes

/// The value `scrub` of the table `meta`: how far the store was read again. It is written rarely; what
/// was read since is read once more after a restart.
struct ScrubMark: Equatable, MetaValue {
    enum Phase: UInt8 {
        case records = 0
        case index, blobs
    }

    /// When the present round began; nil: none has.
    var beganAt: Timestamp?
    /// When the last whole round ended; nil: none has.
    var endedAt: Timestamp?
    /// Bytes that the present round has read.
    var byteCount = 0
    var phase = Phase.records
    /// The last key that was read of the phase's table; empty before the first.
    var key: [UInt8] = []

    static let name = "scrub"
    private static let headByteCount = 32
    /// The key is the name.
    private static let form = ValueForm(
        "the scrub mark", byteCounts: headByteCount...headByteCount + StoreLimits.keyByteCountMax,
        checksumAt: 28, restAt: headByteCount)

    init() {}

    init(_ value: RawSpan) throws(StoreError) {
        try Self.form.check(value, key: Self.name.utf8.span.bytes)
        guard let phase = Phase(rawValue: value.byte(24)) else { throw Self.form.damaged }
        let times: (Int64, Int64) = (value.integer(0), value.integer(8))
        if times.0 > 0 { beganAt = Timestamp(milliseconds: times.0) }
        if times.1 > 0 { endedAt = Timestamp(milliseconds: times.1) }
        byteCount = Int(clamping: value.integer(16, as: UInt64.self))
        self.phase = phase
        key = value.extracting(droppingFirst: Self.headByteCount).array()
    }

    var value: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: beganAt?.milliseconds ?? 0)
        bytes.append(littleEndian: endedAt?.milliseconds ?? 0)
        bytes.append(littleEndian: UInt64(byteCount))
        bytes.append(littleEndian: UInt32(phase.rawValue))
        bytes.append(littleEndian: UInt32(0))
        bytes += key
        Self.form.seal(&bytes, key: Self.name.utf8.span.bytes)
        return bytes
    }
}
