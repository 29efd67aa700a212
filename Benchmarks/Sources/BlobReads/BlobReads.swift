import ArgumentParser
import BlobStore
import Glibc

/// What a read in process costs a Swift program: `baseline-reads` through `BlobStore`.
///
/// `renew` opens a snapshot for every read (`withPayload`), `held` one for 256 (`withSnapshot`).
/// Prints one line of JSON.
@main
struct BlobReads: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "blobd-reads")

    /// How often a snapshot is opened.
    enum Way: String, ExpressibleByArgument {
        case renew, held
    }

    @Argument(help: "The folder of a store.") var folder: String
    @Argument(help: "A file with one notification id a line.") var ids: String
    @Argument(help: "For how long.") var seconds: Double
    @Argument(help: "Open a snapshot for every read, or for 256.") var way: Way = .renew
    @Argument(help: "Make so many reads instead, for counting instructions.") var reads: Int?

    mutating func run() throws {
        let identifiers = try Self.identifiers(ids)
        var options = BlobStore.Options()
        // Room for what there is, and for valgrind, which has not much.
        options.mapByteCountMax = 8 << 30
        let store = try BlobStore.openReadOnly(at: folder, options: options)
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        var reader = RandomReader(
            store: store, identifiers: identifiers,
            asOf: Timestamp(milliseconds: Int64(time.tv_sec) * 1_000))

        let begin = Self.now()
        var end = begin
        var count = 0
        repeat {
            let some = reads ?? 1 << 16
            switch way {
            case .renew: try reader.readEachAlone(some)
            case .held: try reader.readTogether(some)
            }
            count += some
            end = Self.now()
        } while reads == nil && end - begin < seconds
        let rate = Int(Double(count) / (end - begin))
        print(
            "{\"reads\":\(count),\"seconds\":\(end - begin),\"readsPerSecond\":\(rate),\"sum\":\(reader.sum)}"
        )
    }

    private static func identifiers(_ path: String) throws -> [String] {
        guard let file = fopen(path, "re") else { throw ValidationError("cannot read \(path)") }
        defer { fclose(file) }
        var list: [String] = []
        var line = [CChar](repeating: 0, count: 512)
        while fgets(&line, Int32(line.count), file) != nil {
            list.append(
                String(decoding: line.prefix { $0 > 0x20 }.map { UInt8($0) }, as: UTF8.self))
        }
        guard !list.isEmpty else { throw ValidationError("\(path) has no ids") }
        return list
    }

    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// Reads payloads in a random order that is the same in every run.
struct RandomReader {
    private let store: BlobStore
    private let identifiers: [String]
    /// The same, as a snapshot takes them.
    private let bytes: [[UInt8]]
    private let now: Timestamp
    private var numbers = Numbers()
    /// Of what was read, so that it is.
    private(set) var sum: UInt64 = 0

    private static let readsPerSnapshot = 256

    init(store: BlobStore, identifiers: [String], asOf now: Timestamp) {
        self.store = store
        self.identifiers = identifiers
        self.now = now
        bytes = identifiers.map { Array($0.utf8) }
    }

    /// A snapshot for every read.
    @inline(never)
    mutating func readEachAlone(_ count: Int) throws {
        var numbers = numbers
        var sum: UInt64 = 0
        for _ in 0..<count {
            let id = identifiers[numbers.next(below: identifiers.count)]
            let one = try store.withPayload(for: id, asOf: now) { payload in
                Self.touch(try payload.storedChunk(0))
            }
            sum &+= one ?? 0
        }
        self.numbers = numbers
        self.sum &+= sum
    }

    /// A snapshot for many reads.
    @inline(never)
    mutating func readTogether(_ count: Int) throws {
        var numbers = numbers
        var sum: UInt64 = 0
        var done = 0
        while done < count {
            let some = min(Self.readsPerSnapshot, count - done)
            try store.withSnapshot { snapshot in
                for _ in 0..<some {
                    let id = bytes[numbers.next(below: bytes.count)]
                    if case .found(let payload) = try snapshot.payload(
                        for: id.span.bytes, part: RawSpan(), asOf: now)
                    {
                        sum &+= Self.touch(try payload.storedChunk(0))
                    }
                }
            }
            done += some
        }
        self.numbers = numbers
        self.sum &+= sum
    }

    @inline(__always)
    private static func touch(_ chunk: RawSpan) -> UInt64 {
        UInt64(chunk.byteCount) &+ UInt64(chunk.unsafeLoad(as: UInt8.self))
    }
}

/// xorshift64*: the same numbers as the C side of the comparison.
private struct Numbers {
    private var state: UInt64 = 0x9e37_79b9_7f4a_7c15

    /// A multiplication instead of a division: an index from the upper 32 bits.
    @inline(__always)
    mutating func next(below count: Int) -> Int {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        let number = state &* 2_685_821_657_736_338_717
        // Parentheses, because a shift binds tighter than a multiplication here, other than in C.
        return Int(truncatingIfNeeded: ((number >> 32) &* UInt64(count)) >> 32)
    }
}
