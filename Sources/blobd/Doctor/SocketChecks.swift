import BlobServer
import Glibc

/// A socket's folder and mode, and who may connect.
struct SocketChecks {
    /// Its name in the configuration.
    let name: String
    let path: String
    let group: UInt32?

    func run() -> [Finding] {
        let folderPath = SystemFiles.folder(of: path)
        guard let folder = SystemFiles.status(folderPath) else {
            return [
                .problem(
                    "\(name) folder", "\(folderPath): \(String(cString: strerror(errno)))",
                    "Create it; systemd does with RuntimeDirectory=blobd.")
            ]
        }
        return [folderFinding(folderPath, folder), socketFinding()]
    }

    private func folderFinding(_ path: String, _ status: stat) -> Finding {
        let words =
            "\(path): owner \(SystemFiles.user(status.st_uid)), mode \(SystemFiles.mode(status))"
        if status.st_mode & S_IWOTH != 0, status.st_mode & S_ISVTX == 0 {
            return .problem(
                "\(name) folder", words,
                "Others could put a socket of their own there, and the daemon refuses it: chmod o-w \(path)"
            )
        }
        return .ok("\(name) folder", words)
    }

    private func socketFinding() -> Finding {
        guard let status = SystemFiles.status(path) else {
            return .problem(
                name, "\(path): \(String(cString: strerror(errno)))",
                "No daemon has made it: systemctl status blobd")
        }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            return .problem(
                name, "\(path) is no socket",
                "The daemon leaves it alone and does not start: remove it, or set another path.")
        }
        let words =
            "\(path): group \(SystemFiles.group(status.st_gid)), mode \(SystemFiles.mode(status))"
        if status.st_mode & 0o006 != 0 {
            return .problem(
                name, words, "Every user of this machine may connect: set socket-mode to 0660.")
        }
        if let group, status.st_gid != group {
            return .problem(
                name, words,
                "The configuration says group \(SystemFiles.group(group)): restart the daemon. Under a socket unit its SocketGroup= counts."
            )
        }
        return .ok(name, words)
    }
}

/// What to do when nothing accepts at a socket's path, for people.
enum SocketAdvice {
    /// - Parameter code: the `errno` of the connect.
    static func text(_ path: String, errno code: CInt) -> String {
        guard code == EACCES || code == EPERM else {
            return """
                Is it running? Start one: blobd serve --data DIR --socket \(path)
                Another socket: --socket PATH, or export \(DaemonSocket.variable)=PATH
                """
        }
        guard let status = SystemFiles.status(path) else {
            let folder = SystemFiles.folder(of: path)
            return "\(user) may not look into \(folder). See: namei -l \(path)"
        }
        let words =
            "The socket belongs to \(SystemFiles.user(status.st_uid)) and the group "
            + "\(SystemFiles.group(status.st_gid)), and has the mode \(SystemFiles.mode(status))."
        let group = SystemFiles.group(status.st_gid)
        // Joining root's group would be too much.
        guard status.st_mode & S_IWGRP != 0, status.st_gid != 0 else {
            return """
                \(words) Its unit sets that (SocketMode=, SocketGroup=), or socket-mode and socket-group.
                """
        }
        if SystemFiles.isMember(user, of: status.st_gid) {
            return "\(words) \(user) is a member since this session began: log in again."
        }
        return "\(words) Become a member: sudo usermod -aG \(group) \(user), and log in again."
    }

    private static var user: String { SystemFiles.user(geteuid()) }
}
