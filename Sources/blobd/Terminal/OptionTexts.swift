import ArgumentParser
import BlobProtocol
import Glibc

// What options take besides plain numbers and texts. Each says in `--help` what its default is, as it
// would be typed.

/// A number of bytes on the command line: `1048576`, `512KiB`, `64MiB`, `2GiB`, and in powers of ten `10MB`.
struct ByteCountText: ExpressibleByArgument {
    let byteCount: Int

    init(_ byteCount: Int) {
        self.byteCount = byteCount
    }

    init?(argument: String) {
        let unit = Self.units.first { argument.hasSuffix($0.name) }
        let digits = argument.dropLast(unit?.name.count ?? 0)
        guard let number = Self.number(digits) else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: unit?.byteCount ?? 1)
        guard !overflow else { return nil }
        byteCount = product
    }

    private static let units: [(name: String, byteCount: Int)] = [
        ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40),
        ("KB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("TB", 1_000_000_000_000),
    ]

    /// As it may be written, in the largest unit that leaves a whole number.
    var defaultValueDescription: String {
        let unit = Self.units.filter { byteCount > 0 && byteCount.isMultiple(of: $0.byteCount) }
            .max { $0.byteCount < $1.byteCount }
        return unit.map { "\(byteCount / $0.byteCount)\($0.name)" } ?? "\(byteCount)"
    }

    /// A decimal number without sign, or nil.
    static func number(_ digits: Substring) -> Int? {
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(digits)
    }
}

/// A length of time on the command line: `500ms`, `10`, `10s`, `15m`, `24h`, `30d`.
struct DurationText: ExpressibleByArgument {
    let milliseconds: Int

    init(milliseconds: Int) {
        self.milliseconds = milliseconds
    }

    init(seconds: Int) {
        milliseconds = seconds * 1_000
    }

    init?(argument: String) {
        if argument.hasSuffix("ms") {
            guard let number = ByteCountText.number(argument.dropLast(2)) else { return nil }
            milliseconds = number
        } else {
            guard let seconds = CommandLineText.seconds(argument), seconds <= Int.max / 1_000 else {
                return nil
            }
            milliseconds = Int(seconds) * 1_000
        }
    }
}

extension DurationText {
    /// As it may be written, in the largest unit that leaves a whole number.
    var defaultValueDescription: String {
        for (unit, length) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)]
        where milliseconds > 0 && milliseconds % length == 0 {
            return "\(milliseconds / length)\(unit)"
        }
        return "\(milliseconds)ms"
    }
}

/// Permission bits on the command line, in octal: `0660`.
struct ModeText: ExpressibleByArgument {
    let bits: UInt32

    init(bits: UInt32) {
        self.bits = bits
    }

    init?(argument: String) {
        guard let bits = UInt32(argument, radix: 8), bits <= 0o777,
            argument.utf8.allSatisfy({ (0x30...0x37).contains($0) })
        else { return nil }
        self.bits = bits
    }

    /// As `chmod` takes it.
    var defaultValueDescription: String { "0" + String(bits, radix: 8) }
}

/// A group on the command line: its name or its number.
struct GroupText: ExpressibleByArgument {
    let id: UInt32

    init?(argument: String) {
        if let number = UInt32(argument) {
            id = number
        } else if let entry = getgrnam(argument) {
            // The entry is the C library's, good until the next call. The main thread alone calls it.
            id = entry.pointee.gr_gid
        } else {
            return nil
        }
    }
}
