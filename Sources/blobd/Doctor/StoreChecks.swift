import BlobServer
import BlobStore
import CLinux
import Glibc

/// The store's directory: permissions, file system, and free space.
struct StoreChecks {
    let path: String
    let mapByteCountMax: Int

    func run() -> [Finding] {
        guard let status = SystemFiles.status(path) else {
            let reason = String(cString: strerror(errno))
            return [
                .problem(
                    "data directory", "\(path): \(reason)",
                    "Create it, or set `data`: install -d -m 700 -o blobd \(path)")
            ]
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            return [
                .problem("data directory", "\(path) is no directory", "Set `data` to a directory.")
            ]
        }
        return [directory(status)] + files(status)
            + [fileSystem(), mount(), space(), crash()]
            .compactMap { $0 }
    }

    private func directory(_ status: stat) -> Finding {
        let words =
            "\(path): owner \(SystemFiles.user(status.st_uid)), mode \(SystemFiles.mode(status))"
        if status.st_mode & 0o022 != 0 {
            return .problem(
                "data directory", words,
                "Others may write to it, and so replace the store: chmod go-w \(path)")
        }
        if status.st_mode & 0o005 != 0 {
            return .warning(
                "data directory", words, "Others may read the payloads: chmod o-rwx \(path)")
        }
        return .ok("data directory", words)
    }

    /// The owner of the store's files must be the directory's.
    private func files(_ folder: stat) -> [Finding] {
        guard let status = SystemFiles.status("\(path)/data.mdb") else {
            return [.ok("store", "no store yet; the daemon creates one")]
        }
        if status.st_uid != folder.st_uid {
            return [
                .problem(
                    "store",
                    "data.mdb belongs to \(SystemFiles.user(status.st_uid)), its directory to \(SystemFiles.user(folder.st_uid))",
                    "The daemon cannot write to it: chown -R \(SystemFiles.user(folder.st_uid)) \(path)"
                )
            ]
        }
        if Int(status.st_size) > mapByteCountMax {
            return [
                .problem(
                    "store", "data.mdb has \(HumanText.bytes(Int64(status.st_size)))",
                    "map-size is \(HumanText.bytes(Int64(mapByteCountMax))); raise it.")
            ]
        }
        return [.ok("store", "data.mdb: \(HumanText.bytes(Int64(status.st_size)))")]
    }

    /// File systems by the number that `statfs` gives (linux/magic.h).
    private func fileSystem() -> Finding? {
        let type = clinux_file_system_type(path)
        guard type >= 0 else { return nil }
        switch type {
        case 0xEF53: return .ok("file system", "ext4")
        case 0x5846_5342: return .ok("file system", "XFS")
        case 0x9123_683E:
            return .warning(
                "file system", "btrfs",
                "Each sync writes more there. Switch copy-on-write off before the first start: chattr +C \(path)"
            )
        case 0x2FC1_2FC1:
            return .warning(
                "file system", "ZFS", "Use a record size of 16 KiB or less for this directory.")
        case 0x0102_1994, 0x8584_58F6:
            return .problem(
                "file system", "tmpfs: it is memory",
                "Everything is lost at a restart of the machine: use a disk.")
        case 0x6969, 0xFF53_4D42, 0xFE53_4D42, 0x6573_5546, 0x00C3_6400, 0x0102_1997:
            return .problem(
                "file system", "a network or user-space file system (\(String(type, radix: 16)))",
                "Shared memory maps and locks are not safe there: use a local disk.")
        case 0x794C_7630:
            return .warning(
                "file system", "overlayfs: a container's own layer",
                "The store goes with the container: mount a volume at \(path).")
        default:
            return .warning(
                "file system", "not known (\(String(type, radix: 16)))",
                "The store is tested on ext4 and XFS.")
        }
    }

    private func mount() -> Finding? {
        guard let mounts = SystemFiles.text("/proc/self/mountinfo"),
            let mount = MountOptions.find(path, in: mounts)
        else { return nil }
        if mount.options.contains("ro") {
            return .problem(
                "mount options", "\(mount.point) is read-only",
                "mount -o remount,rw \(mount.point). A file system becomes read-only by itself after an error of its disk: see dmesg."
            )
        }
        let unsafe = mount.options.filter { ["nobarrier", "barrier=0"].contains($0) }
        if !unsafe.isEmpty {
            return .problem(
                "mount options", "\(mount.point): \(unsafe.joined(separator: ","))",
                "A power cut may lose acknowledged publishes: mount without \(unsafe.joined(separator: ", "))."
            )
        }
        return .ok("mount options", "\(mount.point): \(mount.options.joined(separator: ","))")
    }

    private func space() -> Finding? {
        var status = statvfs()
        guard statvfs(path, &status) == 0, status.f_blocks > 0 else { return nil }
        let free = Int64(status.f_bavail) * Int64(status.f_frsize)
        let share = 100 * Double(status.f_bavail) / Double(status.f_blocks)
        let words = "\(HumanText.bytes(free)), \(Int(share)) % of the file system"
        if free < 64 << 20 {
            return .problem("free space", words, "Publishes are refused soon (507): make room.")
        }
        if status.f_files > 0, status.f_favail < 100 {
            return .problem(
                "free space", "\(status.f_favail) inodes", "No file can be created: remove files.")
        }
        if share < 10 {
            return .warning(
                "free space", words, "Make room, or set min-free-disk and max-bytes.")
        }
        return .ok("free space", words)
    }

    private func crash() -> Finding? {
        guard SystemFiles.status("\(path)/blobd.died") != nil else { return nil }
        return .warning(
            "last run", "it died of a fault (blobd.died)",
            "The next start checks all tables. Look for the fault in the log and in dmesg.")
    }
}

/// Where a path is mounted, and how.
struct MountOptions {
    let point: String
    /// Of the mount and of its file system.
    let options: [String]

    /// The innermost mount of a path, in the text of `/proc/self/mountinfo` (proc(5)).
    static func find(_ path: String, in text: String) -> MountOptions? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let real = realpath(path, &buffer).map { String(cString: $0) } ?? path
        var best: MountOptions?
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            guard words.count >= 10, let dash = words.firstIndex(of: "-"), dash + 3 < words.count
            else { continue }
            let point = words[4]
            guard point == "/" || real == point || real.hasPrefix(point + "/"),
                point.count >= best?.point.count ?? 0
            else { continue }
            let options = (words[5] + "," + words[dash + 3]).split(separator: ",").map(String.init)
            best = MountOptions(point: point, options: options)
        }
        return best
    }
}
