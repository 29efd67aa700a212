import Glibc

/// Writes and reads tar archives of plain files (POSIX ustar; sizes from 8 GiB on in base 256, like GNU tar).
enum TarArchive {
    static let blockByteCount = 512
    static let nameByteCountMax = 100

    private enum Field {
        static let mode = 100
        static let size = 124
        static let time = 136
        static let checksum = 148
        static let kind = 156
        static let magic = 257
    }

    static func head(_ name: String, byteCount: Int, time: Int64) -> [UInt8] {
        precondition(name.utf8.count <= nameByteCountMax, "names are made here")
        var head = [UInt8](repeating: 0, count: blockByteCount)
        func put(_ text: String, at offset: Int) {
            for (index, byte) in text.utf8.enumerated() { head[offset + index] = byte }
        }
        put(name, at: 0)
        put("0000644", at: Field.mode)
        if byteCount < 1 << 33 {
            put(octal(Int64(byteCount)), at: Field.size)
        } else {
            head[Field.size] = 0x80
            for index in 0..<8 {
                head[Field.size + 11 - index] = UInt8(truncatingIfNeeded: byteCount >> (8 * index))
            }
        }
        put(octal(max(0, time)), at: Field.time)
        put("0", at: Field.kind)
        put("ustar", at: Field.magic)
        put("00", at: Field.magic + 6)
        let sum = octal(Int64(checksum(head)))
        put(String(sum.suffix(6)), at: Field.checksum)
        head[Field.checksum + 6] = 0
        head[Field.checksum + 7] = 0x20
        return head
    }

    static func padding(after byteCount: Int) -> [UInt8] {
        [UInt8](repeating: 0, count: -byteCount & (blockByteCount - 1))
    }

    static let end = [UInt8](repeating: 0, count: 2 * blockByteCount)

    /// Reads a head; nil at the end of the archive.
    static func read(_ head: [UInt8]) throws(CommandFailure) -> (name: String, byteCount: Int)? {
        guard head.contains(where: { $0 != 0 }) else { return nil }
        guard
            let said = number(head[Field.checksum..<Field.checksum + 8]),
            said == checksum(head)
        else { throw CommandFailure(.refused, "not a tar archive, or a damaged one") }
        guard let byteCount = number(head[Field.size..<Field.time]), byteCount >= 0 else {
            throw CommandFailure(
                .refused, "the tar archive contains a file with an unreadable size")
        }
        let name = String(decoding: head[..<nameByteCountMax].prefix { $0 != 0 }, as: UTF8.self)
        guard head[Field.kind] == UInt8(ascii: "0") || head[Field.kind] == 0 else {
            // A directory, which other programs add.
            return (name, 0)
        }
        return (name, byteCount)
    }

    private static func octal(_ value: Int64) -> String {
        let digits = String(value, radix: 8)
        return String(repeating: "0", count: max(0, 11 - digits.count)) + digits
    }

    private static func checksum(_ head: [UInt8]) -> Int {
        head.enumerated().reduce(0) { sum, byte in
            let isSum = byte.offset >= Field.checksum && byte.offset < Field.checksum + 8
            return sum + (isSum ? 0x20 : Int(byte.element))
        }
    }

    private static func number(_ field: ArraySlice<UInt8>) -> Int? {
        if field.first == 0x80 {
            return field.suffix(8).reduce(0) { $0 << 8 | Int($1) }
        }
        let text = String(decoding: field, as: UTF8.self)
        return Int(text.filter { $0 != "\0" && $0 != " " }, radix: 8)
    }
}
