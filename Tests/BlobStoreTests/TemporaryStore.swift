import BlobStore
import Glibc

/// A folder for one test's store, removed when the test lets go of it.
final class TemporaryFolder: Sendable {
    let path: String

    init() {
        var template = Array("/tmp/blobstore-test.XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { preconditionFailure("no temporary folder") }
        path = String(cString: made)
    }

    deinit {
        // Two levels are all a store makes.
        for name in [
            "data.mdb", "lock.mdb", "blobd.lock", "changes.log", "changes.pending",
        ] {
            for folder in ["\(path)/store.new", "\(path)/data", path] {
                unlink("\(folder)/\(name)")
            }
        }
        rmdir("\(path)/store.new")
        rmdir("\(path)/data")
        rmdir(path)
    }

    func open(_ change: (inout BlobStore.Options) -> Void = { _ in }) throws -> BlobStore {
        var options = BlobStore.Options()
        options.mapByteCountMax = 1 << 30
        change(&options)
        return try BlobStore.open(at: path, options: options)
    }
}

/// A moment tests call the present.
let noon = Timestamp(milliseconds: 1_800_000_000_000)

extension BlobStore {
    func prepare(
        _ bytes: [UInt8], mediaType: String = "application/octet-stream"
    ) throws -> PreparedPayload {
        var writer = makePayloadWriter()
        try writer.append(bytes.span.bytes)
        return try writer.finish(mediaType: mediaType)
    }

    @discardableResult
    func put(
        _ id: String?, _ bytes: [UInt8], part: String = "payload",
        mediaType: String = "application/octet-stream", seconds: Int64 = 3_600,
        asOf now: Timestamp = noon
    ) throws -> Record {
        try publish(
            Publication(
                id: id, part: part, payload: try prepare(bytes, mediaType: mediaType),
                expiry: .at(now.adding(seconds: seconds))), asOf: now)
    }
}

/// A generator whose seed can be printed and used again (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count {
            withUnsafeBytes(of: next()) { bytes.append(contentsOf: $0) }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}
