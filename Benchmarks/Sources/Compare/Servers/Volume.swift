import Glibc

/// A file system for the servers' data: the folder's own, or one in a file.
final class Volume {
    let storage: Storage
    /// A folder on it.
    let place: Place
    /// What was mounted for it; empty when it is the folder's own.
    private let mountPoint: String
    /// The number of its block device; nil where there is none, as of tmpfs.
    private let device: String?

    /// Why a file system is left out.
    struct Omission: Error {
        var description: String

        init(_ description: String) { self.description = description }
    }

    private init(_ place: Place, device words: String, mountPoint: String = "") throws {
        self.place = place
        self.mountPoint = mountPoint
        storage = Storage(
            fileSystem: Self.name(of: place.folder), device: words,
            syncMicroseconds: try Machine.syncMicroseconds(in: place.folder))
        let number = Shell.output("findmnt -n -o MAJ:MIN -T '\(place.folder)' | tail -1")
        device = Shell.file("/sys/dev/block/\(number)/stat").isEmpty ? nil : number
    }

    /// What kind of file system a folder is on.
    static func name(of folder: String) -> String {
        Shell.output("findmnt -n -o FSTYPE -T '\(folder)' | tail -1")
    }

    /// The folder's own.
    static func own(_ place: Place) throws -> Volume {
        let name = name(of: place.folder)
        let source = Shell.output("findmnt -n -o SOURCE -T '\(place.folder)' | tail -1")
        return try Volume(
            place.within(name), device: name == "tmpfs" ? "memory" : "the folder's own, \(source)")
    }

    /// Those that have a command to make them with.
    static let made = ["ext4", "xfs"]

    /// One in a file in the folder, on a loop device. The file is unlinked as soon as it is mounted, and the device
    /// is detached when it is unmounted.
    ///
    /// - Parameter most: its size in bytes, if that is not more than half of what is free.
    /// - Throws: ``Omission`` with what the system said, when there can be none.
    static func inFile(_ fileSystem: String, _ place: Place, most: Int) throws -> Volume {
        guard made.contains(fileSystem) else {
            throw Omission("only \(made.joined(separator: " and ")) are made in a file")
        }
        guard geteuid() == 0 else { throw Omission("only root may mount a file") }
        let image = place.path("\(fileSystem).image")
        let mountPoint = place.path(fileSystem)
        let inMemory = name(of: place.folder) == "tmpfs"
        let byteCount = try byteCount(in: place.folder, most: most)
        // On a disk the first write of a block would also allocate it.
        let fill =
            inMemory
            ? "truncate -s \(byteCount) '\(image)'"
            : "dd if=/dev/zero of='\(image)' bs=4M count=\(byteCount >> 22) conv=fsync status=none"
        let make =
            fileSystem == "xfs"
            ? "mkfs.xfs -q -f" : "mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0"
        let said = Shell.output(
            """
            {
                set -e
                device=
                trap '[ -z "$device" ] || losetup -d "$device"; rm -f "\(image)"' EXIT
                \(fill)
                device=$(losetup --find --show --direct-io=on '\(image)' 2>/dev/null) ||
                    device=$(losetup --find --show '\(image)')
                \(make) "$device"
                mkdir -p '\(mountPoint)'
                mount -t \(fileSystem) "$device" '\(mountPoint)'
                echo mounted
            } 2>&1
            """)
        guard said == "mounted" else {
            throw Omission(said.split(separator: "\n").first.map(String.init) ?? "no mount")
        }
        var inside = place
        inside.folder = mountPoint
        let below = inMemory ? "memory" : "the folder's \(name(of: place.folder))"
        do {
            return try Volume(
                inside, device: "in a file of \(byteCount >> 20) MiB on \(below), by a loop device",
                mountPoint: mountPoint)
        } catch {
            unmount(mountPoint)
            throw error
        }
    }

    private static func byteCount(in folder: String, most: Int) throws -> Int {
        let kibibytes = Shell.output("df --output=avail -k '\(folder)' | tail -1")
        let free = (Int(kibibytes) ?? 0) << 10
        let byteCount = min(most, free / 2) & -(4 << 20)
        guard byteCount >= 1 << 30 else {
            throw Omission("\(folder) has \(free >> 20) MiB free, and 2,048 are needed")
        }
        return byteCount
    }

    /// Writes everything to the device.
    func sync() { _ = Shell.output("sync -f '\(place.folder)'") }

    /// Bytes that the device has written so far, whoever asked it to; nil where there is no device.
    var bytesWritten: Int? {
        // Documentation/block/stat.rst: the seventh is write sectors, which have 512 bytes.
        device.flatMap { number in
            let fields = Shell.file("/sys/dev/block/\(number)/stat").split(separator: " ")
            return fields.count > 6 ? Int(fields[6]).map { $0 * 512 } : nil
        }
    }

    /// Removes what is in it, and unmounts it when it was mounted for this.
    func remove() {
        if mountPoint.isEmpty { place.remove() } else { Self.unmount(mountPoint) }
    }

    private static func unmount(_ mountPoint: String) {
        _ = Shell.output("umount '\(mountPoint)' 2>/dev/null || umount -l '\(mountPoint)'")
    }
}
