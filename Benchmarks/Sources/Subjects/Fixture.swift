import BlobStore
import CSubjects
import Glibc
import LoadGenerator
import Synchronization

/// A folder with a store, removed at the end.
final class Fixture: Sendable {
    let folder: String
    let ids: [String]
    /// Far from the end of every payload that is to be found.
    static let now = Timestamp(milliseconds: 1_800_000_000_000)

    /// A store of `count` notifications of `byteCount` bytes each, no two the same.
    init(count: Int, byteCount: Int) throws {
        folder = try Folders.make()
        // Of one length, so that every lookup compares as much.
        ids = (0..<count).map { "notification-\(1_000_000 + $0)" }
        let store = try openForWriting()
        var publications: [Change] = []
        for (index, id) in ids.enumerated() {
            publications.append(
                .publish(
                    try Self.publication(
                        store, id, Self.bytes(byteCount, seed: UInt64(index) + 1))))
        }
        for start in stride(from: 0, to: count, by: 256) {
            try Self.apply(Array(publications[start..<min(start + 256, count)]), to: store)
        }
    }

    deinit { Folders.remove(folder) }

    /// Less address space than usual, because valgrind has not much.
    private static var options: BlobStore.Options {
        var options = BlobStore.Options()
        options.mapByteCountMax = 4 << 30
        return options
    }

    func openForWriting() throws -> BlobStore {
        try BlobStore.open(at: folder, options: Self.options)
    }

    func openForReading() throws -> BlobStore {
        try BlobStore.openReadOnly(at: folder, options: Self.options)
    }

    /// Bytes that are the same in every run, and do not shrink.
    static func bytes(_ count: Int, seed: UInt64) -> [UInt8] {
        var generator = SeededGenerator(seed: seed)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count {
            withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0) }
        }
        return Array(bytes.prefix(count))
    }

    static func publication(
        _ store: BlobStore, _ id: String, _ bytes: [UInt8],
        endsAfterSeconds seconds: Int64 = 86_400
    ) throws -> Publication {
        var writer = store.makePayloadWriter()
        try writer.append(bytes.span.bytes)
        return Publication(
            id: id, payload: try writer.finish(mediaType: "image/png"),
            expiry: .at(now.adding(seconds: seconds)))
    }

    static func apply(_ changes: [Change], to store: BlobStore) throws {
        for case .refused(let error) in try store.apply(changes, asOf: now) { throw error }
    }
}

/// A C program's view of a fixture.
///
/// Sendable: it is used by one thread at a time, the one that measures.
final class CStore: @unchecked Sendable {
    let handle: OpaquePointer
    private let fixture: Fixture

    init(_ fixture: Fixture) throws {
        guard let opened = c_lookups_open(fixture.folder) else {
            throw SubjectFailure(reason: "C cannot open \(fixture.folder)")
        }
        handle = opened
        self.fixture = fixture
    }

    deinit { c_lookups_close(handle) }

    /// See `c_lookups_read`.
    @inline(__always)
    func read(_ id: [UInt8]) -> UInt64 {
        id.withUnsafeBytes { c_lookups_read(handle, $0.baseAddress, $0.count) }
    }
}

/// A file without a name.
final class TemporaryFile: Sendable {
    let descriptor: Int32

    init(byteCount: Int) throws {
        var template = Array("\(Folders.parent)/blobd-subject.XXXXXX".utf8CString)
        descriptor = mkstemp(&template)
        guard descriptor >= 0, unlink(template) == 0, posix_fallocate(descriptor, 0, byteCount) == 0
        else {
            throw SubjectFailure(
                reason: "no file can be made in \(Folders.parent): errno \(errno)")
        }
    }

    deinit { close(descriptor) }
}

/// Folders of fixtures, beneath `TMPDIR` or `/var/tmp`, which is on a disk where `/tmp` may not be.
enum Folders {
    /// Those that exist. What is prepared is kept until the process exits, and `exit` deinitialises nothing.
    private static let made = Mutex<Set<String>?>(nil)

    static var parent: String {
        guard let folder = getenv("TMPDIR") else { return "/var/tmp" }
        return String(cString: folder)
    }

    static func make() throws -> String {
        var template = Array("\(parent)/blobd-subject.XXXXXX".utf8CString)
        guard let folder = mkdtemp(&template) else {
            throw SubjectFailure(reason: "no folder can be made in \(parent): errno \(errno)")
        }
        let path = String(cString: folder)
        made.withLock { made in
            if made == nil { atexit { Folders.removeAll() } }
            made = (made ?? []).union([path])
        }
        return path
    }

    static func remove(_ path: String) {
        var files = glob_t()
        if glob("\(path)/*", 0, nil, &files) == 0 {
            for index in 0..<Int(files.gl_pathc) { unlink(files.gl_pathv[index]!) }
        }
        globfree(&files)
        rmdir(path)
        made.withLock { _ = $0?.remove(path) }
    }

    private static func removeAll() {
        for path in made.withLock({ $0 ?? [] }) { remove(path) }
    }
}
