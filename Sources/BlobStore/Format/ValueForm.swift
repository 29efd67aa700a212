internal import Bytes

/// A value of the table `meta`, which stands under its name.
protocol MetaValue {
    static var name: String { get }
    init(_ value: RawSpan) throws(StoreError)
    var value: [UInt8] { get }
}

/// A value of the table `index`. What it says of itself depends on its key, which its checksum covers.
protocol IndexValue {
    init(_ value: RawSpan, key: RawSpan) throws(StoreError)
    func bytes(key: [UInt8]) -> [UInt8]
}

/// A value whose fields are words of eight bytes, which stand in the file in their order and as they are in memory.
/// After them are the checksum and zeros.
protocol WordsValue: BitwiseCopyable {
    static var form: ValueForm { get }
    /// Whether it can be so.
    var isSound: Bool { get }
}

extension WordsValue {
    var isSound: Bool { true }

    fileprivate init(words value: RawSpan, key: RawSpan) throws(StoreError) {
        try Self.form.check(value, key: key)
        self = value.words(0)
        guard isSound else { throw Self.form.damaged }
    }

    /// As it stands in the file, in the first ``ValueForm/byteCountMin`` bytes.
    func words(key: RawSpan) -> InlineArray<16, UInt64> {
        var words = InlineArray<16, UInt64>(repeating: 0)
        var span = words.mutableSpan
        // Every byte pattern is words.
        var bytes = span.mutableBytes
        bytes.storeBytes(of: self, as: Self.self)
        Self.form.seal(&bytes, key: key)
        return words
    }

    fileprivate func bytes(key: RawSpan) -> [UInt8] {
        words(key: key).span.bytes.extracting(first: Self.form.byteCountMin).array()
    }
}

extension MetaValue where Self: WordsValue {
    init(_ value: RawSpan) throws(StoreError) { try self.init(words: value, key: RawSpan()) }
    var value: [UInt8] { bytes(key: RawSpan()) }
}

extension IndexValue where Self: WordsValue {
    init(_ value: RawSpan, key: RawSpan) throws(StoreError) {
        try self.init(words: value, key: key)
    }
    func bytes(key: [UInt8]) -> [UInt8] { bytes(key: key.span.bytes) }
}

/// How a value of a table is guarded: its length, and the place of its checksum, a CRC-32 of the key (where that is
/// not the same in every store) and of the bytes before the checksum.
struct ValueForm: Sendable {
    /// What it is, for an error's words.
    private let thing: StaticString
    private let byteCounts: ClosedRange<Int>
    /// Negative: from the end.
    private let checksumOffset: Int
    /// What stands here and after is covered as well; nil: nothing.
    private let restOffset: Int?

    init(_ thing: StaticString, byteCount: Int, checksumAt offset: Int) {
        self.init(thing, byteCounts: byteCount...byteCount, checksumAt: offset, restAt: nil)
    }

    init(
        _ thing: StaticString, byteCounts: ClosedRange<Int>, checksumAt offset: Int,
        restAt restOffset: Int?
    ) {
        self.thing = thing
        self.byteCounts = byteCounts
        checksumOffset = offset
        self.restOffset = restOffset
    }

    var byteCountMin: Int { byteCounts.lowerBound }

    /// Throws ``damaged`` unless a value has its length and its checksum.
    func check(_ value: RawSpan, key: RawSpan = RawSpan()) throws(StoreError) {
        guard isWhole(value, key: key) else { throw damaged }
    }

    /// Lengths come first: a checksum of gigabytes would take seconds.
    func isWhole(_ value: RawSpan, key: RawSpan = RawSpan()) -> Bool {
        byteCounts.contains(value.byteCount)
            && value.integer(offset(in: value)) == checksum(of: value, key: key)
    }

    /// What the checksum of a value is, whatever stands in its place.
    func checksum(of value: RawSpan, key: RawSpan = RawSpan()) -> UInt32 {
        var checksum = Checksum(key: key, value.extracting(first: offset(in: value)))
        if let restOffset { checksum.update(value.extracting(droppingFirst: restOffset)) }
        return checksum.value
    }

    func seal(_ value: inout [UInt8], key: RawSpan = RawSpan()) {
        let checksum = checksum(of: value.span.bytes, key: key)
        value.replace(at: offset(in: value.span.bytes), littleEndian: checksum)
    }

    /// Of a value of a fixed length, at the beginning of `value`.
    func seal(_ value: inout MutableRawSpan, key: RawSpan) {
        let checksum = checksum(of: value.bytes.extracting(first: byteCountMin), key: key)
        value.store(checksum, at: checksumOffset)
    }

    /// The error of a value that is not as it was written.
    var damaged: StoreError { .corrupt(thing.description) }

    private func offset(in value: RawSpan) -> Int {
        checksumOffset < 0 ? value.byteCount + checksumOffset : checksumOffset
    }
}
