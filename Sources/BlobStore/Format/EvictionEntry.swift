internal import Bytes

/// The value of a key ``IndexKeys/evicted(_:)``: the blob's bytes are in the bucket, and its chunks may be
/// missing here. Where some are there, all behind them are.
struct EvictionEntry: Equatable {
    /// Stored bytes of the whole blob.
    var storedByteCount: UInt64

    static let byteCount = 12

    init(storedByteCount: UInt64) { self.storedByteCount = storedByteCount }

    /// Reads and checks a value.
    init(_ value: RawSpan, key: RawSpan) throws(StoreError) {
        guard IndexKeys.number(key) != nil, value.byteCount == Self.byteCount,
            value.integer(8, as: UInt32.self)
                == Checksum(key: key, value.extracting(first: 8)).value
        else { throw .corrupt("an eviction entry") }
        storedByteCount = value.integer(0)
    }

    /// The value's 12 bytes under `key`.
    func bytes(key: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: storedByteCount)
        bytes.append(littleEndian: Checksum(key: key.span.bytes, bytes.span.bytes).value)
        return bytes
    }
}

/// The value `evicted` of the table `meta`: how many eviction entries there are. Of this host alone.
struct EvictionCount: Equatable {
    var blobs: UInt64 = 0
    /// As stored.
    var bytes: UInt64 = 0

    static let name = "evicted"
    static let byteCount = 20

    init() {}

    /// Reads and checks a value.
    init(_ value: RawSpan) throws(StoreError) {
        guard value.byteCount == Self.byteCount,
            value.integer(16, as: UInt32.self) == Checksum(value.extracting(first: 16)).value
        else { throw .corrupt("the count of evicted blobs") }
        blobs = value.integer(0)
        bytes = value.integer(8)
        guard blobs <= StoreLimits.counterMax, bytes <= StoreLimits.counterMax else {
            throw .corrupt("the count of evicted blobs")
        }
    }

    /// The value's 20 bytes.
    var value: [UInt8] {
        var value: [UInt8] = []
        value.append(littleEndian: blobs)
        value.append(littleEndian: bytes)
        value.append(littleEndian: Checksum(value.span.bytes).value)
        return value
    }
}
