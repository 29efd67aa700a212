internal import Bytes

/// The value `zero-copy` of the table `meta`: until when pages of `data.mdb` that earlier runs sent may still be
/// with their peers.
///
/// Nobody knows when a run ended, but each start is a moment by which those before it had. One start is enough to
/// go by; the next one takes its place once its grace is over. So a daemon that restarts again and again frees what
/// it released within two graces.
struct ZeroCopyMark: Equatable, MetaValue, WordsValue {
    /// Which boot the moment is of. Runs of an earlier boot have no peers left.
    var bootID: BootID
    /// Orphans of transactions up to this one are with nobody.
    var returnedTransaction: UInt64
    /// Orphans of transactions up to this one, the last before a start, are with nobody once the grace after
    /// ``moment`` is over.
    var transaction: UInt64
    /// When that start was, in milliseconds of the boot clock.
    var moment: Int64

    static let name = "zero-copy"
    static let form = ValueForm("the zero-copy mark", byteCount: 48, checksumAt: 40)

    /// The mark after a start of the same boot that comes after the transaction `last`.
    func followed(by last: UInt64, at now: Int64, graceMilliseconds: Int64) -> ZeroCopyMark {
        var mark = self
        // A moment that has not come yet makes no sense: it counts as now.
        mark.moment = min(moment, now)
        guard Self.isOver(graceMilliseconds, after: mark.moment, at: now) else { return mark }
        mark.returnedTransaction = transaction
        mark.transaction = last
        mark.moment = now
        return mark
    }

    /// Whether so many milliseconds have passed. No clock, and no sum that is too large, says yes.
    static func isOver(_ milliseconds: Int64, after moment: Int64, at now: Int64?) -> Bool {
        guard let now else { return false }
        let (waited, overflow) = now.subtractingReportingOverflow(moment)
        return !overflow && waited >= milliseconds
    }
}

/// The value `scrub` of the table `meta`: how far the store was read again. It is written rarely; what
/// was read since is read once more after a restart.
package struct ScrubPosition: Equatable, Sendable, MetaValue {
    enum Phase: UInt8 {
        case records = 0
        case index, blobs
    }

    /// When the present round began; nil: none has.
    package internal(set) var beganAt: Timestamp?
    /// When the last whole round ended; nil: none has.
    package internal(set) var endedAt: Timestamp?
    /// Bytes that the present round has read.
    package internal(set) var byteCount = 0
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
