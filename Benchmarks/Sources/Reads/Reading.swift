import BlobStore
import Glibc

/// How a payload is read.
enum Way: String {
    case payload
    case snapshot
    case held
}

/// xorshift64*: the same numbers as `baseline-reads` draws.
struct Generator {
    var state: UInt64 = 0x9e37_79b9_7f4a_7c15

    @inline(__always)
    mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 2_685_821_657_736_338_717
    }

    /// An index less than `count`: a multiplication instead of a division.
    @inline(__always)
    mutating func index(_ count: Int) -> Int {
        Int(truncatingIfNeeded: ((next() >> 32) &* UInt64(truncatingIfNeeded: count)) >> 32)
    }
}

func now() -> Timestamp {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Timestamp(milliseconds: Int64(now.tv_sec) * 1_000 + Int64(now.tv_nsec) / 1_000_000)
}

func elapsedSeconds() -> Double {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
}

struct NotThere: Error {
    var id: String
}

/// Makes reads for `seconds`, or `reads` of them, and prints a line of JSON.
func run(
    _ store: BlobStore, ids: [String], seconds: Double, way: Way, reads fixed: Int
) throws {
    var generator = Generator()
    var sum: UInt64 = 0
    var reads = 0
    let time = now()
    let begin = elapsedSeconds()
    var end = begin
    let some = fixed > 0 ? fixed : 1 << 16
    let utf8 = ids.map { Array($0.utf8) }
    repeat {
        switch way {
        case .payload: sum &+= try readPayloads(store, ids, &generator, some, time)
        case .snapshot: sum &+= try readSnapshots(store, utf8, &generator, some, 1, time)
        case .held: sum &+= try readSnapshots(store, utf8, &generator, some, 256, time)
        }
        reads += some
        end = elapsedSeconds()
    } while fixed == 0 && end - begin < seconds
    let rate = Int(Double(reads) / (end - begin))
    print(
        "{\"reads\":\(reads),\"seconds\":\(end - begin),\"readsPerSecond\":\(rate),\"sum\":\(sum)}")
}

/// A read is what `baseline-reads` calls one: both lookups, and a look at the first byte.
@inline(never)
private func readPayloads(
    _ store: BlobStore, _ ids: [String], _ generator: inout Generator, _ count: Int,
    _ time: Timestamp
) throws -> UInt64 {
    var sum: UInt64 = 0
    for _ in 0..<count {
        let id = ids[generator.index(ids.count)]
        let seen = try store.withPayload(for: id, asOf: time) { payload in
            let bytes = try payload.storedChunk(0)
            return UInt64(bytes.byteCount)
                &+ UInt64(bytes.unsafeLoad(fromByteOffset: 0, as: UInt8.self))
        }
        guard let seen else { throw NotThere(id: id) }
        sum &+= seen
    }
    return sum
}

@inline(never)
private func readSnapshots(
    _ store: BlobStore, _ ids: [[UInt8]], _ generator: inout Generator, _ count: Int,
    _ perSnapshot: Int, _ time: Timestamp
) throws -> UInt64 {
    var sum: UInt64 = 0
    var left = count
    while left > 0 {
        let some = min(left, perSnapshot)
        left -= some
        sum &+= try store.withSnapshot { (snapshot) throws(StoreError) in
            var sum: UInt64 = 0
            for _ in 0..<some {
                let id = ids[generator.index(ids.count)]
                switch try snapshot.payload(
                    for: id.span.bytes, part: RawSpan(), asOf: time)
                {
                case .found(let payload):
                    let bytes = try payload.storedChunk(0)
                    sum &+= UInt64(bytes.byteCount)
                    sum &+= UInt64(bytes.unsafeLoad(fromByteOffset: 0, as: UInt8.self))
                case .expired, .missing: throw .corrupt("an id is not there")
                }
            }
            return sum
        }
    }
    return sum
}
