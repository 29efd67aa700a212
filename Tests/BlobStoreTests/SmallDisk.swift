import Glibc

/// A tmpfs of a few megabytes, unmounted when the test lets go of it. Only root can mount one.
final class SmallDisk {
    let path: String

    static let isPossible: Bool = (try? SmallDisk(byteCount: 1 << 20)) != nil

    struct CannotMount: Error {
        var errno: Int32
    }

    init(byteCount: Int) throws {
        var template = Array("/tmp/blobstore-disk.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw CannotMount(errno: errno) }
        path = String(
            decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard mount("tmpfs", path, "tmpfs", 0, "size=\(byteCount)") == 0 else {
            let number = errno
            rmdir(path)
            throw CannotMount(errno: number)
        }
    }

    deinit {
        // Lazily: a store may be closing still.
        umount2(path, Int32(MNT_DETACH))
        rmdir(path)
    }

    /// Takes all the room there is, but `byteCount`.
    func fill(leaving byteCount: Int) throws {
        let descriptor = Glibc.open(path + "/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        var status = statvfs()
        fstatvfs(descriptor, &status)
        let available = Int(status.f_bavail) * Int(status.f_frsize) - byteCount
        guard posix_fallocate(descriptor, 0, off_t(available)) == 0 else {
            throw CannotMount(errno: ENOSPC)
        }
    }

    func empty() { unlink(path + "/filler") }
}
