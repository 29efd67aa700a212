import BlobStore
import CLinux
import Glibc

struct StoreChecks {
    let path: String
    let mapByteCountMax: Int
    /// The daemon that has the store, if it was found.
    let holder: Int?

    func run() -> [Finding] {
        let check = "data directory"
        guard let status = SystemFiles.status(path) else {
            return [
                .unseen(
                    check, path, errno,
                    "Create it, or set `data`: install -d -m 700 -o blobd \(path)")
            ]
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            return [
                Finding(check, "\(path) is not a directory", .problem, "Set `data` to a directory.")
            ]
        }
        let directory = Finding(
            check, "\(path): owner \(SystemFiles.ownerAndMode(status))",
            status.st_mode & 0o022 != 0 ? .problem : .ok,
            "Others can write to it and replace the store: chmod go-w \(path)"
        ).or(
            status.st_mode & 0o005 != 0, .warning,
            "Others can read the payloads: chmod o-rwx \(path)")
        return [directory, store(status)]
            + [fileSystem(), mount(), space(), crash(), changesLeftOut()].compactMap { $0 }
    }

    /// The owner of the store's files must be the directory's.
    private func store(_ folder: stat) -> Finding {
        guard let status = SystemFiles.status("\(path)/data.mdb") else {
            guard errno == ENOENT else { return .unseen("store", "\(path)/data.mdb", errno, "") }
            if let holder { return gone("data.mdb", holder) }
            guard SystemFiles.status("\(path)/changes.log") == nil else {
                return Finding(
                    "store", "data.mdb is gone, and changes.log is there", .problem,
                    "Put data.mdb back: what is only in the log belongs to it.")
            }
            return Finding("store", "no store yet; the daemon creates one")
        }
        // Not each daemon has a log.
        if let holder, SystemFiles.status("\(path)/changes.log") == nil,
            SystemFiles.openFiles(of: holder).contains(where: { $0.contains("/changes.log") })
        {
            return gone("changes.log", holder)
        }
        if status.st_uid != folder.st_uid {
            let owner = SystemFiles.user(folder.st_uid)
            return Finding(
                "store",
                "data.mdb belongs to \(SystemFiles.user(status.st_uid)), its directory to \(owner)",
                .problem, "The daemon cannot write to it: chown -R \(owner) \(path)")
        }
        let isTooLong = Int(status.st_size) > mapByteCountMax
        return Finding(
            "store", "data.mdb\(isTooLong ? " has" : ":") \(HumanText.bytes(status.st_size))",
            isTooLong ? .problem : .ok, "map-size is \(HumanText.bytes(mapByteCountMax)); raise it."
        )
    }

    private func gone(_ name: String, _ holder: Int) -> Finding {
        Finding(
            "store", "\(name) is gone, and process \(holder) still has it", .problem,
            name == "data.mdb"
                ? "All is lost when it exits: make a backup now (blobd backup FILE), stop it, move its files away, and restore that."
                : "Acknowledged changes are lost if it dies: make a backup (blobd backup FILE), and restart it."
        )
    }

    /// Names file systems by the number that `statfs` returns (linux/magic.h).
    private func fileSystem() -> Finding? {
        let type = clinux_file_system_type(path)
        guard type >= 0 else { return nil }
        let (seen, state, advice): (String, Finding.State, String) =
            switch type {
            case 0xEF53: ("ext4", .ok, "")
            case 0x5846_5342: ("XFS", .ok, "")
            case 0x9123_683E:
                (
                    "btrfs", .warning,
                    "Each sync writes more there. Switch copy-on-write off before the first start: chattr +C \(path)"
                )
            case 0x2FC1_2FC1:
                ("ZFS", .warning, "Use a record size of 16 KiB or less for this directory.")
            case 0x0102_1994, 0x8584_58F6:
                (
                    "tmpfs, which is memory", .problem,
                    "Everything is lost at a reboot: use a disk."
                )
            case 0x6969, 0xFF53_4D42, 0xFE53_4D42, 0x6573_5546, 0x00C3_6400, 0x0102_1997:
                (
                    "a network or user-space file system (\(String(type, radix: 16)))", .problem,
                    "Shared memory maps and locks are not safe there: use a local disk."
                )
            case 0x794C_7630:
                (
                    "overlayfs: a container's own layer", .warning,
                    "The store is lost with the container: mount a volume at \(path)."
                )
            default:
                (
                    "not known (\(String(type, radix: 16)))", .warning,
                    "The store is tested on ext4 and XFS."
                )
            }
        return Finding("file system", seen, state, advice)
    }

    private func mount() -> Finding? {
        guard let mounts = SystemFiles.text("/proc/self/mountinfo"),
            let mount = MountOptions.find(path, in: mounts)
        else { return nil }
        let (point, check) = (mount.point, "mount options")
        if mount.options.contains("ro") {
            return Finding(
                check, "\(point) is read-only", .problem,
                "mount -o remount,rw \(point). A file system becomes read-only by itself after an error of its disk: see dmesg."
            )
        }
        let unsafe = mount.options.filter { ["nobarrier", "barrier=0"].contains($0) }
        return Finding(
            check, "\(point): \((unsafe.isEmpty ? mount.options : unsafe).joined(separator: ","))",
            !unsafe.isEmpty ? .problem : .ok,
            "A power cut may lose acknowledged publishes: mount without \(unsafe.joined(separator: ", "))."
        )
    }

    private func space() -> Finding? {
        var status = statvfs()
        guard statvfs(path, &status) == 0, status.f_blocks > 0 else { return nil }
        let free = Int64(status.f_bavail) * Int64(status.f_frsize)
        let share = 100 * Double(status.f_bavail) / Double(status.f_blocks)
        let isFull = free < 64 << 20
        if !isFull, status.f_files > 0, status.f_favail < 100 {
            return Finding(
                "free space", "\(status.f_favail) inodes", .problem,
                "No file can be created: remove files.")
        }
        return Finding(
            "free space", "\(HumanText.bytes(free)), \(Int(share)) % of the file system",
            isFull ? .problem : .ok, "Publishes will soon be refused (507): free disk space."
        ).or(
            share < 10, .warning,
            "Less than 10 % is free: free disk space, or set min-free-disk and max-bytes.")
    }

    private func crash() -> Finding? {
        SystemFiles.status("\(path)/blobd.died").map { _ in
            Finding(
                "last run", "it crashed (blobd.died)", .warning,
                "The next start checks all tables. Look for the fault in the log and in dmesg.")
        }
    }

    private func changesLeftOut() -> Finding? {
        let count = UnreplicatedFolders.count(in: path)
        return count == 0
            ? nil
            : Finding(
                "changes left out",
                "\(HumanText.count(count, of: "folder")) \(path)/\(UnreplicatedFolders.prefix)N",
                .warning,
                "They have acknowledged changes that are not part of the shard. Publish them again if they matter, then remove the folders: see the runbook for a lost host."
            )
    }
}

struct MountOptions {
    let point: String
    /// The options of the mount and of its file system.
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
