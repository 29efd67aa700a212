import CLinux
import Glibc

/// The daemon's socket in the file system: put there complete, and taken away again.
///
/// A socket that is there already is replaced only after a connect to it was refused, so never that
/// of a living daemon; whatever is no socket is left alone.
struct SocketFile: ~Copyable {
    /// What clients connect to.
    let path: String
    let listener: ListeningSocket
    /// Whether its mode alone says who may connect; see ``PeerPolicy``.
    let trustsMode: Bool
    /// Its device and its inode; nil when it is a service manager's, which removes it.
    private let identity: (device: UInt64, inode: UInt64)?

    /// Why there is no socket.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Binds under a temporary name in the same folder, listens, and moves the socket to `path`
    /// (`rename`), so that a client that finds it can connect to it.
    ///
    /// - Parameter flag: what the path is given by, for messages.
    init(
        path: String, mode: UInt32, group: UInt32?, flag: String = "--socket"
    ) throws(Failure) {
        let max = ListeningSocket.pathByteCountMax
        guard !path.isEmpty, path.utf8.count <= max else {
            throw Failure(
                description:
                    "\(flag) \(path): the path is \(path.utf8.count) bytes long; the limit is \(max)"
            )
        }
        try Self.checkVacant(path, flag)
        let folder = Self.folder(of: path)
        let descriptor = clinux_open_folder(folder)
        guard descriptor >= 0 else {
            throw Failure(description: "\(flag) \(path): \(folder): \(SystemError.text(errno))")
        }
        defer { close(descriptor) }
        var folderStatus = stat()
        // Who may write to the folder could put a socket of their own there while no daemon runs.
        if fstat(descriptor, &folderStatus) == 0, folderStatus.st_mode & S_IWOTH != 0,
            folderStatus.st_mode & S_ISVTX == 0
        {
            throw Failure(
                description:
                    "\(flag) \(path): others may write to \(folder); chmod o-w it, or use another directory"
            )
        }
        // Named through the folder's descriptor: the temporary name fits whatever the path's
        // length.
        let temporary = "/proc/self/fd/\(descriptor)/.blobd.\(getpid())"
        unlink(temporary)
        let listener: ListeningSocket
        do throws(SystemError) {
            listener = try ListeningSocket(path: temporary, mode: mode, group: group)
        } catch {
            unlink(temporary)
            throw Failure(description: "\(flag) \(path): \(error)")
        }
        guard rename(temporary, path) == 0 else {
            let reason = SystemError("rename")
            unlink(temporary)
            throw Failure(description: "\(flag) \(path): \(reason)")
        }
        var status = stat()
        guard lstat(path, &status) == 0 else {
            throw Failure(description: "\(flag) \(path): \(SystemError("lstat"))")
        }
        self.path = path
        self.listener = listener
        identity = (UInt64(status.st_dev), UInt64(status.st_ino))
        trustsMode = group != nil
    }

    /// Takes over a socket that a service manager listens at. Mode, group and folder are its business; the
    /// mode is trusted where it lets nobody in but the owner and the group.
    init(passed number: Int32) throws(Failure) {
        do throws(SystemError) {
            listener = try ListeningSocket(
                listening: OwnedDescriptor(taking: number, from: "LISTEN_FDS"))
        } catch {
            throw Failure(
                description:
                    "LISTEN_FDS: descriptor \(number) is not a Unix stream socket that listens")
        }
        path = listener.path
        identity = nil
        var status = stat()
        trustsMode = lstat(path, &status) == 0 && status.st_mode & S_IWOTH == 0
    }

    /// Removes the socket, unless another has taken its place, or it was passed.
    borrowing func remove() {
        var status = stat()
        guard let identity, lstat(path, &status) == 0,
            UInt64(status.st_dev) == identity.device, UInt64(status.st_ino) == identity.inode
        else { return }
        unlink(path)
    }

    /// Throws unless there is nothing at `path`, or a socket that nobody listens at.
    private static func checkVacant(_ path: String, _ flag: String) throws(Failure) {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            if errno == ENOENT { return }
            throw Failure(description: "\(flag) \(path): \(SystemError("lstat"))")
        }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw Failure(
                description: "\(flag) \(path): the path exists and is not a socket")
        }
        switch ListeningSocket.probe(path) {
        case .refused, .absent: return
        case .alive:
            throw Failure(description: "\(flag) \(path): another process listens on it")
        case .failed(let error):
            throw Failure(description: "\(flag) \(path): \(error)")
        }
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
