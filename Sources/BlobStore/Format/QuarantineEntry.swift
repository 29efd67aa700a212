internal import Bytes

/// The value of a key ``IndexKeys/quarantine(_:)``: a blob that was damaged when its bytes were published
/// again. They became another blob, which has the digest's entry now; parts refer to this one until each is
/// given the other. Shipped like any change: on other hosts this blob may be sound.
struct QuarantineEntry: Equatable, IndexValue {
    /// The blob, as the parts that refer to it have it.
    var blob: BlobReference
    /// How many parts refer to it; at least 1.
    var referenceCount: UInt64
    /// When it gave way.
    var foundAt: Timestamp

    private static let form = ValueForm("a quarantine entry", byteCount: 72, checksumAt: 68)

    init(_ blob: BlobReference, referenceCount: UInt64, foundAt: Timestamp) {
        self.blob = blob
        self.referenceCount = referenceCount
        self.foundAt = foundAt
    }

    init(_ value: RawSpan, key: RawSpan) throws(StoreError) {
        try Self.form.check(value, key: key)
        guard key.byteCount == IndexKeys.quarantineByteCount,
            let coding = Coding(rawValue: value.byte(64))
        else { throw Self.form.damaged }
        referenceCount = value.integer(32)
        let byteCount = value.integer(40, as: UInt64.self)
        let storedByteCount = value.integer(48, as: UInt64.self)
        foundAt = Timestamp(milliseconds: value.integer(56))
        let number = UInt64(bigEndian: key.word(1))
        guard byteCount <= StoreLimits.payloadByteCountMax,
            storedByteCount <= StoreLimits.payloadByteCountMax, number <= StoreLimits.counterMax,
            (1...StoreLimits.counterMax).contains(referenceCount)
        else { throw Self.form.damaged }
        blob = BlobReference(
            digest: Digest(value, at: 0), number: number, byteCount: Int(byteCount),
            storedByteCount: Int(storedByteCount), coding: coding)
    }

    func bytes(key: [UInt8]) -> [UInt8] {
        var bytes = blob.digest.rawWords.span.bytes.array()
        bytes.append(littleEndian: referenceCount)
        bytes.append(littleEndian: UInt64(blob.byteCount))
        bytes.append(littleEndian: UInt64(blob.storedByteCount))
        bytes.append(littleEndian: foundAt.milliseconds)
        bytes.append(littleEndian: UInt32(blob.coding.rawValue))
        bytes.appendZeros(4)
        Self.form.seal(&bytes, key: key.span.bytes)
        return bytes
    }
}
