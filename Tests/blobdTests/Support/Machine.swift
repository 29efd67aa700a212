import Glibc

/// What this machine lets a test do.
enum Machine {
    /// Whether `strace` is here and allowed to trace.
    static let canTrace =
        (try? run(["/usr/bin/strace", "-o", "/dev/null", "/bin/true"]).code) == 0

    /// Whether this process may mount: root may, but not in every container.
    static let canMount = geteuid() == 0 && (try? SmallDisk(megabytes: 1)) != nil

    /// Whether this process may act as another user.
    static let canChangeUser = geteuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0
}

/// A mounted tmpfs of so many megabytes.
final class SmallDisk {
    let path: String

    init(megabytes: Int) throws {
        path = try makeTemporaryFolder()
        guard mount("tmpfs", path, "tmpfs", 0, "size=\(megabytes)m") == 0 else {
            let failure = TestFailure("mount", errno)
            rmdir(path)
            throw failure
        }
    }

    deinit {
        removeFolder(path)
        umount2(path, Int32(MNT_DETACH))
        rmdir(path)
    }
}
