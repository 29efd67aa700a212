import Bytes
import TestSupport
import Testing

@testable import BlobStore

/// What a batch did, as bytes from which it can be done again.
@Suite struct OperationBufferTests {
    /// An operation as a value.
    struct Operation: Equatable {
        var isPut: Bool
        var table: Int
        var key: [UInt8]
        var value: [UInt8]

        init(_ isPut: Bool, _ table: Int, _ key: [UInt8], _ value: [UInt8] = []) {
            (self.isPut, self.table, self.key, self.value) = (isPut, table, key, value)
        }

        var byteCount: Int { 8 + key.count + value.count }
    }

    /// What a reader gives of `bytes`, and whether it says that this is all.
    private static func read(_ bytes: RawSpan) -> (operations: [Operation], isAtEnd: Bool) {
        var reader = OperationReader(bytes)
        var operations: [Operation] = []
        while let operation = reader.next() {
            operations.append(
                Operation(
                    operation.isPut, operation.table, operation.key.array(),
                    operation.value.array()))
        }
        return (operations, reader.isAtEnd)
    }

    static func read(_ bytes: [UInt8]) -> (operations: [Operation], isAtEnd: Bool) {
        read(bytes.span.bytes)
    }

    @Test("Puts of both forms and deletes are noted when they happen, in their order")
    func operations() throws {
        let (a, b, none, old) = (Array("a".utf8), Array("b".utf8), [UInt8]([0]), Array("old".utf8))
        var buffer = OperationBuffer()
        // Before anybody asks nothing is kept.
        buffer.notePut(none.span.bytes, none.span.bytes, in: 0)
        #expect(buffer.noted.isEmpty)
        buffer.restart(prefixByteCount: 5, byteCountMax: 10_000)
        #expect(buffer.operationCount == 0)
        buffer.notePut(a.span.bytes, [UInt8]([1, 2]).span.bytes, in: 0)
        buffer.notePut(
            b.span.bytes, [UInt8]([3]).span.bytes, [UInt8]([4, 5]).span.bytes, in: 1)
        let mark = buffer.mark
        buffer.notePut(b.span.bytes, RawSpan(), in: 0)
        buffer.noteDelete(old.span.bytes, in: 1)
        let whole = buffer.noted
        // What came after a mark is forgotten, and can be noted again.
        buffer.rollBack(to: mark)
        #expect(buffer.operationCount == 2 && buffer.noted.count == 5 + 11 + 12)
        buffer.notePut(b.span.bytes, RawSpan(), in: 0)
        buffer.noteDelete(old.span.bytes, in: 1)
        #expect(buffer.noted == whole && buffer.operationCount == 4 && !buffer.isOverfull)
        #expect(whole.prefix(5).allSatisfy { $0 == 0 })
        let operations = Array(whole.dropFirst(5))
        let read = Self.read(operations)
        #expect(
            read.operations == [
                Operation(true, 0, a, [1, 2]), Operation(true, 1, b, [3, 4, 5]),
                Operation(true, 0, b), Operation(false, 1, old),
            ])
        #expect(read.isAtEnd)
        // The bytes of the second, as they are described.
        let first = 8 + 1 + 2
        #expect(
            Array(operations[first..<first + 12]) == [1, 1, 1, 0, 3, 0, 0, 0, 0x62, 3, 4, 5])
        buffer.finish(alignment: 64) { $0.storeBytes(of: 7, toByteOffset: 4, as: UInt8.self) }
        #expect(buffer.noted.count == 64 && buffer.noted[4] == 7)
        #expect(buffer.noted.dropFirst(5 + operations.count).allSatisfy { $0 == 0 })
        buffer.finish(alignment: 64) { _ in }
        #expect(buffer.noted.count == 64, "it was a multiple already")
    }

    @Test("An operation fits exactly, or not by a byte; behind one that does not nothing is noted")
    func limits() throws {
        let table: UInt8 = 0
        let key = [UInt8](repeating: 1, count: 10)
        let value = [UInt8](repeating: 2, count: 30)
        var buffer = OperationBuffer()
        for (max, fits) in [(64 + 48, true), (64 + 47, false), (64, false), (1, false), (0, false)]
        {
            buffer.restart(prefixByteCount: 64, byteCountMax: max)
            buffer.notePut(key.span.bytes, value.span.bytes, in: table)
            #expect(buffer.isOverfull == !fits, "\(max)")
            #expect(buffer.operationCount == 1)
            if fits { #expect(buffer.noted.count == max) }
            // A shorter one would fit, but without the one before it is of no use.
            buffer.noteDelete(key.span.bytes, in: table)
            #expect(buffer.isOverfull)
            #expect(buffer.operationCount == 2)
            #expect(buffer.noted.count <= Swift.max(max, 64))
        }
        // The same for a put in two pieces, and a delete.
        for (max, fits) in [(48, true), (47, false)] {
            buffer.restart(prefixByteCount: 0, byteCountMax: max)
            buffer.notePut(
                key.span.bytes, value.span.bytes.extracting(0..<7),
                value.span.bytes.extracting(7..<30), in: table)
            #expect(buffer.isOverfull == !fits, "\(max)")
        }
        for (max, fits) in [(18, true), (17, false)] {
            buffer.restart(prefixByteCount: 0, byteCountMax: max)
            buffer.noteDelete(key.span.bytes, in: table)
            #expect(buffer.isOverfull == !fits, "\(max)")
        }
        buffer.restart(prefixByteCount: 0, byteCountMax: 100)
        #expect(!buffer.isOverfull && buffer.noted.isEmpty)
    }

    /// Some operations, as bytes.
    private static func sample() throws -> (operations: [Operation], bytes: [UInt8]) {
        var buffer = OperationBuffer()
        buffer.restart(prefixByteCount: 0, byteCountMax: 100_000)
        for number in 0..<UInt8(12) {
            let key = [UInt8](repeating: number, count: 1 + Int(number))
            let value = [UInt8](repeating: ~number, count: Int(number) * 7)
            buffer.notePut(key.span.bytes, value.span.bytes, in: number % 2)
            if number % 3 == 0 { buffer.noteDelete(key.span.bytes, in: 0) }
        }
        let bytes = buffer.noted
        let read = read(bytes)
        #expect(read.isAtEnd && read.operations.count == buffer.operationCount)
        return (read.operations, bytes)
    }

    @Test("Cut anywhere, the whole operations before the cut are given, and the cut is seen")
    func truncations() throws {
        let (operations, bytes) = try Self.sample()
        var ends: [Int] = [0]
        for operation in operations { ends.append(ends[ends.count - 1] + operation.byteCount) }
        #expect(ends.last == bytes.count)
        for cut in 0...bytes.count {
            // An array of its own, so that reading beyond it is found.
            let read = Self.read(Array(bytes.prefix(cut)))
            let count = ends.lastIndex { $0 <= cut } ?? 0
            #expect(read.operations == Array(operations.prefix(count)), "cut at \(cut)")
            #expect(read.isAtEnd == ends.contains(cut), "cut at \(cut)")
        }
        #expect(Self.read([UInt8]()).isAtEnd)
    }

    @Test("Of rubbish the reader gives what lies inside of it, or nothing")
    func rubbish() throws {
        let seed = testSeed(20)
        print("damaged operations: seed \(seed)")
        var numbers = SeededGenerator(seed: seed)
        let (operations, bytes) = try Self.sample()
        var damagedCount = 0
        for round in 0..<testRounds(600) {
            var damaged = bytes
            if round % 3 == 0 {
                damaged = (0..<numbers.below(200)).map { _ in
                    UInt8(truncatingIfNeeded: numbers.below(256))
                }
                // Likely to be taken for an operation.
                if damaged.count > 8 { damaged[0] = 1 + UInt8(numbers.below(2)) }
                if round % 2 == 0, damaged.count > 8 {
                    for index in 3..<8 where index != 4 { damaged[index] = 0 }
                }
            } else {
                for _ in 0...numbers.below(3) {
                    let bit = numbers.below(bytes.count * 8)
                    damaged[bit / 8] ^= 1 << UInt8(bit % 8)
                }
            }
            let read = Self.read(damaged)
            let used = read.operations.reduce(0) { $0 + $1.byteCount }
            #expect(used <= damaged.count)
            #expect(read.isAtEnd == (used == damaged.count), "round \(round)")
            #expect(read.operations.allSatisfy { !$0.key.isEmpty })
            // Each is what stands there.
            var offset = 0
            for operation in read.operations {
                let value = damaged[
                    offset + 8 + operation.key.count..<offset + operation.byteCount]
                #expect(operation.value.elementsEqual(value))
                offset += operation.byteCount
            }
            if read.operations != operations { damagedCount += 1 }
        }
        #expect(damagedCount > 400)
    }

    /// A key of no bytes, an invalid kind: the rest cannot be read.
    @Test("An invalid kind, and a key of no bytes, end the reading")
    func heads() {
        let whole: [UInt8] = [1, 0, 1, 0, 1, 0, 0, 0, 65, 66]
        #expect(Self.read(whole).operations == [Operation(true, 0, [65], [66])])
        for (index, byte) in [(0, 0), (0, 3), (2, 0), (2, 3), (3, 1), (4, 2), (7, 0xFF)] {
            var bytes = whole
            bytes[index] = UInt8(byte)
            let read = Self.read(bytes)
            #expect(read.operations.isEmpty && !read.isAtEnd, "byte \(index) is \(byte)")
        }
    }
}

extension OperationBuffer {
    fileprivate var noted: [UInt8] { bytes.withUnsafeBytes { Array($0) } }
}
