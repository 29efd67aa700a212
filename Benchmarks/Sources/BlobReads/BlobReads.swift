import ArgumentParser
import BlobStore
import Glibc

/// What a read in process costs a Swift program: the same as `baseline-reads`, through `BlobStore`.
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
