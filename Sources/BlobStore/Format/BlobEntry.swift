internal import Bytes

/// A value of the table `blobs`: where a digest's bytes are and how many parts refer to them.
struct BlobEntry: Equatable {
    var number: UInt64
    var referenceCount: UInt64
    var byteCount: UInt64
    var storedByteCount: UInt64
    /// The latest expiry any part that refers to it was given: an upper bound, since deletes do not
    /// lower it.
    var expiryBound: Timestamp
    var coding: Coding
    /// Until when the blob is kept without a reference; nil: no longer than it has one. The
    /// reference count may be 0 only where there is such a time.
    var heldUntil: Timestamp?

    static let byteCount = 56
    /// The hold has the upper six bytes of the word that the coding is in.
    private static let holdShift: UInt64 = 16
    private static let holdMax: UInt64 = 1 << 48 - 1
    private static let form = ValueForm("", byteCount: byteCount, checksumAt: 48)

    init(_ value: RawSpan, digest: Digest) throws(StoreError) {
        let key = digest.rawWords
        guard Self.form.isWhole(value, key: key.span.bytes),
            let coding = Coding(rawValue: value.byte(40))
        else { throw .corrupt("the blob entry of \(digest)") }
        number = value.integer(0)
        referenceCount = value.integer(8)
        byteCount = value.integer(16)
        storedByteCount = value.integer(24)
        expiryBound = Timestamp(milliseconds: value.integer(32))
        self.coding = coding
        let hold = value.integer(40, as: UInt64.self) >> Self.holdShift
        if hold > 0 { heldUntil = Timestamp(milliseconds: Int64(hold)) }
        guard byteCount <= StoreLimits.payloadByteCountMax,
            storedByteCount <= StoreLimits.payloadByteCountMax,
            coding != .identity || byteCount == storedByteCount
        else { throw .corrupt("the byte counts of \(digest)") }
        // Both are added to.
        guard number <= StoreLimits.counterMax, referenceCount <= StoreLimits.counterMax else {
            throw .corrupt("the numbers of \(digest)")
        }
    }

    /// An entry of the table, with the blob that it is of.
    static func read(
        _ key: RawSpan, _ value: RawSpan
    ) throws(StoreError) -> (reference: BlobReference, entry: BlobEntry) {
        guard let digest = Digest(bytes: key) else { throw .corrupt("a key of the blob table") }
        let entry = try BlobEntry(value, digest: digest)
        return (entry.reference(digest), entry)
    }

    init(
        _ reference: BlobReference, referenceCount: UInt64, expiryBound: Timestamp,
        heldUntil: Timestamp? = nil
    ) {
        number = reference.number
        self.referenceCount = referenceCount
        byteCount = UInt64(reference.byteCount)
        storedByteCount = UInt64(reference.storedByteCount)
        self.expiryBound = expiryBound
        coding = reference.coding
        self.heldUntil = heldUntil
    }

    func words(digest: Digest) -> InlineArray<7, UInt64> {
        let hold = min(UInt64(clamping: heldUntil?.milliseconds ?? 0), Self.holdMax)
        var words: InlineArray<7, UInt64> = [
            number.littleEndian, referenceCount.littleEndian, byteCount.littleEndian,
            storedByteCount.littleEndian, UInt64(bitPattern: expiryBound.milliseconds).littleEndian,
            (UInt64(coding.rawValue) | hold << Self.holdShift).littleEndian, 0,
        ]
        let key = digest.rawWords
        let checksum = Self.form.checksum(of: words.span.bytes, key: key.span.bytes)
        words[6] = UInt64(checksum).littleEndian
        return words
    }

    /// When the blob's time was over, if that is before `now` and known: what referred to it may
    /// have gone earlier than the bound says.
    func end(before now: Timestamp) -> Timestamp? {
        let end = max(expiryBound, heldUntil ?? expiryBound)
        return end <= now ? end : nil
    }

    func reference(_ digest: Digest) -> BlobReference {
        BlobReference(
            digest: digest, number: number, byteCount: Int(byteCount),
            storedByteCount: Int(storedByteCount), coding: coding)
    }
}
