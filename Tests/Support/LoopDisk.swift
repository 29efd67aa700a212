import Glibc

/// A file system in a file, mounted by a loop device, on which it is not enough to allocate a file. It is unmounted with
/// the last reference. btrfs copies on write: a file that is allocated may have no room for what is written to it.
public final class LoopDisk: Sendable {
    /// How it is made to have no room.
    public enum Bound: CaseIterable, Sendable {
        /// By other files.
        case filled
        /// By other files, and the store's are written in place (`chattr +C`).
        case filledInPlace
        /// By the limit of a quota group, which the store's folder is.
        case quota
        /// By other files, on an ext2: nothing can be allocated (`fallocate`) there.
        case withoutAllocation
    }

    private let image = TemporaryFolder()
    private let mounted = TemporaryFolder()
    private let bound: Bound

    /// The store's folder.
    public var path: String { "\(mounted)/data" }

    /// Whether this process may mount one.
    public static let isPossible: Bool = (try? LoopDisk(.quota)) != nil

    /// Makes and mounts one with a folder for a store.
    public init(_ bound: Bound) throws {
        self.bound = bound
        let file = "\(image)/image"
        let descriptor = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0, ftruncate(descriptor, 256 << 20) == 0 else {
            throw TestFailure("image", errno)
        }
        close(descriptor)
        try Self.call(bound == .withoutAllocation ? "mkfs.ext2" : "mkfs.btrfs", "-q", file)
        try Self.call("mount", "-o", "loop", file, mounted.path)
        if bound == .quota {
            try Self.call("btrfs", "quota", "enable", mounted.path)
            try Self.call("btrfs", "subvolume", "create", path)
            return
        }
        mkdir(path, 0o750)
        if bound == .filledInPlace { try Self.call("chattr", "+C", path) }
    }

    deinit {
        // Lazily: a store may be closing still. The loop device goes with the mount.
        umount2(mounted.path, Int32(MNT_DETACH))
    }

    /// Takes all the space that is left.
    public func fill() throws {
        if bound == .quota {
            // What the store has, and a little.
            try writeBack()
            try Self.call("btrfs", "qgroup", "limit", "56M", path)
        }
        let filler = bound == .quota ? path : mounted.path
        for (index, byteCount) in [1 << 20, 4 << 10, 512].enumerated() {
            let descriptor = open(
                "\(filler)/filler\(index)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            let piece = [UInt8](repeating: 1, count: byteCount)
            while write(descriptor, piece, byteCount) > 0 {}
        }
        try writeBack()
    }

    /// Writes everything to the disk: what a mapped page is written to afterwards needs room again.
    public func writeBack() throws { try Self.call("sync", "-f", mounted.path) }

    /// Frees what ``fill()`` took.
    public func empty() throws {
        for folder in [path, mounted.path] {
            for index in 0..<3 { unlink("\(folder)/filler\(index)") }
        }
        if bound == .quota { try Self.call("btrfs", "qgroup", "limit", "none", path) }
        try writeBack()
    }

    private static func call(_ command: String...) throws {
        let (end, _, errors) = try run(["env"] + command)
        guard end == .exited(0) else { throw TestFailure("\(command): \(errors)") }
    }
}
