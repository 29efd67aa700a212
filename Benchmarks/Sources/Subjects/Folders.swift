import Glibc
import Synchronization

/// Folders of fixtures, beneath `TMPDIR` or `/var/tmp`, which is on a disk where `/tmp` may not be.
enum Folders {
    /// Those that are there. What is prepared is kept until the process ends, and then by `exit`,
    /// which ends no lives of objects.
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
        for name in ["data.mdb", "lock.mdb", "blobd.lock"] { unlink("\(path)/\(name)") }
        rmdir(path)
        made.withLock { _ = $0?.remove(path) }
    }

    private static func removeAll() {
        for path in made.withLock({ $0 ?? [] }) { remove(path) }
    }
}
