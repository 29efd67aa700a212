import BlobServer
import Glibc

struct SocketChecks {
    let name: String
    let path: String
    let group: UInt32?
    /// The daemon that has the store, if it was found.
    let holder: Int?

    func run() -> [Finding] {
        let folder = SocketFile.folder(of: path)
        guard let status = SystemFiles.status(folder) else {
            return [
                .unseen(
                    "\(name) folder", folder, errno,
                    "Create it; systemd does with RuntimeDirectory=blobd.")
            ]
        }
        let isOpen = status.st_mode & S_IWOTH != 0 && status.st_mode & S_ISVTX == 0
        return [
            Finding(
                "\(name) folder", "\(folder): owner \(SystemFiles.ownerAndMode(status))",
                isOpen ? .problem : .ok,
                "Others could put a socket of their own there, and the daemon refuses it: chmod o-w \(folder)"
            ),
            socket(),
        ]
    }

    private func socket() -> Finding {
        guard let status = SystemFiles.status(path) else {
            return .unseen(
                name, path, errno,
                SocketAdvice.lost(holder) ?? "No daemon has created it: systemctl status blobd")
        }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            return Finding(
                name, "\(path) is not a socket", .problem,
                "The daemon does not replace it, and does not start: remove it, or set another path."
            )
        }
        return Finding(
            name,
            "\(path): group \(SystemFiles.group(status.st_gid)), mode \(SystemFiles.mode(status))",
            status.st_mode & 0o006 != 0 ? .problem : .ok,
            "Every user of this machine may connect: set socket-mode to 0660."
        ).or(
            group.map { $0 != status.st_gid } ?? false, .problem,
            "The configuration says group \(SystemFiles.group(group ?? 0)): restart the daemon. Under a socket unit its SocketGroup= counts."
        )
    }
}

/// Advice for a socket whose path accepts no connections.
enum SocketAdvice {
    /// For a path that leads to no socket, while a daemon has the store; nil: none has.
    static func lost(_ holder: Int?) -> String? {
        holder.map {
            "Process \($0) has the store, and runs without this socket file. Restart it (systemctl restart blobd), or give the path of its socket."
        }
    }

    static func text(_ path: String, errno code: CInt) -> String {
        guard code == EACCES || code == EPERM else {
            return """
                Is it running? Start one: blobd serve --data DIR --socket \(path)
                Another socket: --socket PATH, or export \(DaemonSocket.variable)=PATH
                """
        }
        let user = SystemFiles.user(geteuid())
        guard let status = SystemFiles.status(path) else {
            return
                "\(user) may not access \(SocketFile.folder(of: path)). See: namei -l \(path)"
        }
        let group = SystemFiles.group(status.st_gid)
        let words =
            "The socket belongs to \(SystemFiles.user(status.st_uid)) and the group "
            + "\(group), and has the mode \(SystemFiles.mode(status))."
        // Joining root's group would grant too much.
        guard status.st_mode & S_IWGRP != 0, status.st_gid != 0 else {
            return
                "\(words) Its unit sets that (SocketMode=, SocketGroup=), or socket-mode and socket-group."
        }
        if SystemFiles.isMember(user, of: status.st_gid) {
            return "\(words) \(user) is a member since this session began: log in again."
        }
        return "\(words) Become a member: sudo usermod -aG \(group) \(user), and log in again."
    }
}
