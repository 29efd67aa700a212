import CLinux
import Glibc

/// The daemon's socket in the file system: put there complete, and removed with this object at the latest. One that is
/// there is replaced only after a connect to it was refused; whatever is no socket is left alone.
package final class SocketFile {
    let path: String
    let listener: ListeningSocket
    /// Whether its mode alone says who may connect; see ``PeerPolicy``.
    let trustsMode: Bool
    /// Its device and its inode; nil when it is a service manager's, which removes it.
    private let identity: (device: UInt64, inode: UInt64)?

    /// Binds under a temporary name, listens, and moves the socket to `path`: a client that finds it can connect.
    init(
        path: String, mode: UInt32, group: UInt32?, flag: String = "--socket"
    ) throws(StartFailure) {
        func fail(_ why: String) -> StartFailure {
            StartFailure(description: "\(flag) \(path): \(why)")
        }
        let max = ListeningSocket.pathByteCountMax
        guard !path.isEmpty, path.utf8.count <= max else {
            throw fail("the path is \(path.utf8.count) bytes long; the limit is \(max)")
        }
        if let obstacle = Self.obstacle(at: path) { throw fail(obstacle) }
        let folder = Self.folder(of: path)
        let descriptor = clinux_open_folder(folder)
        guard descriptor >= 0 else {
            throw fail("\(folder): \(SystemError.text(errno))")
        }
        defer { close(descriptor) }
        var folderStatus = stat()
        // Who may write to the folder could put a socket of their own there while no daemon runs.
        if fstat(descriptor, &folderStatus) == 0, folderStatus.st_mode & S_IWOTH != 0,
            folderStatus.st_mode & S_ISVTX == 0
        {
            throw fail("others may write to \(folder); chmod o-w it, or use another directory")
        }
        // Named through the folder's descriptor: it fits whatever the path's length.
        let temporary = "/proc/self/fd/\(descriptor)/.blobd.\(getpid())"
        unlink(temporary)
        let listener: ListeningSocket
        do throws(SystemError) {
            listener = try ListeningSocket(path: temporary, mode: mode, group: group)
        } catch {
            unlink(temporary)
            throw fail("\(error)")
        }
        guard rename(temporary, path) == 0 else {
            let reason = SystemError("rename")
            unlink(temporary)
            throw fail("\(reason)")
        }
        var status = stat()
        guard lstat(path, &status) == 0 else {
            throw fail("\(SystemError("lstat"))")
        }
        self.path = path
        self.listener = listener
        identity = (UInt64(status.st_dev), UInt64(status.st_ino))
        trustsMode = group != nil
    }

    /// Takes over a socket that a service manager listens at. Mode, group and folder are its business; the
    /// mode is trusted where it lets nobody in but the owner and the group.
    init(passed number: Int32) throws(StartFailure) {
        do throws(SystemError) {
            listener = try ListeningSocket(
                listening: OwnedDescriptor(taking: number, from: "LISTEN_FDS"))
        } catch {
            throw StartFailure(
                description:
                    "LISTEN_FDS: descriptor \(number) is not a Unix stream socket that listens")
        }
        path = listener.path
        identity = nil
        var status = stat()
        trustsMode = lstat(path, &status) == 0 && status.st_mode & S_IWOTH == 0
    }

    deinit { remove() }

    /// Removes the socket, unless another has taken its place, or it was passed.
    func remove() {
        var status = stat()
        guard let identity, lstat(path, &status) == 0,
            UInt64(status.st_dev) == identity.device, UInt64(status.st_ino) == identity.inode
        else { return }
        unlink(path)
    }

    /// Why a socket cannot be put at `path`; nil: nothing is there, or a socket that nobody listens at.
    private static func obstacle(at path: String) -> String? {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            return errno == ENOENT ? nil : "\(SystemError("lstat"))"
        }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            return "the path exists and is not a socket"
        }
        switch ListeningSocket.probe(path) {
        case .refused, .absent: return nil
        case .alive: return "another process listens on it"
        case .failed(let error): return "\(error)"
        }
    }

    package static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
