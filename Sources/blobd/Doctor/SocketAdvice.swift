import Glibc

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
        // Nobody joins root's group for this.
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

    /// The user that the command runs as.
    private static var user: String { SystemFiles.user(geteuid()) }
}
