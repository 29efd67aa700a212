import Glibc

/// A folder for one test, removed with its last reference.
public final class TemporaryFolder: Sendable, CustomStringConvertible {
    /// Where it is.
    public let path: String

    /// Makes one in `/tmp`.
    public init() {
        guard let made = try? Files.makeFolder("blobd") else {
            preconditionFailure("no temporary folder")
        }
        path = made
    }

    deinit { Files.remove(path) }

    /// Its path, so that "\(folder)/name" is one.
    public var description: String { path }

    /// The path of something in it.
    public func path(_ name: String) -> String { "\(path)/\(name)" }

    /// Makes a file in it. Returns its path.
    @discardableResult
    public func write(_ name: String, _ bytes: [UInt8]) throws -> String {
        try Files.write(bytes, to: path(name))
        return path(name)
    }

    /// All bytes of a file in it.
    public func read(_ name: String) throws -> [UInt8] { try Files.read(path(name)) }

    /// The names in it, sorted.
    public var names: [String] { Files.names(in: path) }
}

/// A tmpfs, unmounted with its last reference. Only root can mount one, and not in every container.
public final class SmallDisk: Sendable {
    /// Where it is mounted.
    public let folder = TemporaryFolder()

    /// The folder's path.
    public var path: String { folder.path }

    /// Whether this process may mount one.
    public static let isPossible: Bool = (try? SmallDisk(byteCount: 1 << 20)) != nil

    /// Mounts one of so many bytes.
    public init(byteCount: Int) throws {
        guard mount("tmpfs", path, "tmpfs", 0, "size=\(byteCount)") == 0 else {
            throw TestFailure("mount", errno)
        }
    }

    deinit {
        // Lazily: a store may be closing still.
        umount2(path, Int32(MNT_DETACH))
    }

    /// Allocates all the space that is left, but `byteCount`.
    public func fill(leaving byteCount: Int) throws {
        let descriptor = open("\(path)/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        var status = statvfs()
        fstatvfs(descriptor, &status)
        let available = Int(status.f_bavail) * Int(status.f_frsize) - byteCount
        let code = posix_fallocate(descriptor, 0, off_t(available))
        guard code == 0 else { throw TestFailure("posix_fallocate", code) }
    }

    /// Has it make no more files than it has, or as many as it likes.
    public func limitFiles(toPresent isLimited: Bool) throws {
        var status = statvfs()
        statvfs(path, &status)
        let count = isLimited ? Int(status.f_files - status.f_ffree) : 10_000
        guard mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT), "nr_inodes=\(count)") == 0 else {
            throw TestFailure("mount", errno)
        }
    }

    /// Frees what ``fill(leaving:)`` took.
    public func empty() { unlink("\(path)/filler") }
}
