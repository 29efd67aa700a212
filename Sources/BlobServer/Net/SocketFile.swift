import BlobStore
import CLinux
import Glibc

/// The daemon's socket in the file system: appears complete, and is removed with this object at the latest. Replaces an
/// existing socket only if it refuses connections, and never anything that is not a socket.
package final class SocketFile {
    package static let pathByteCountMax = ListeningSocket.pathByteCountMax

    let path: String
    let listener: ListeningSocket
    /// Whether only its mode decides which users may connect; see ``PeerPolicy``.
    let trustsMode: Bool
    /// Its device and inode; nil if it belongs to a service manager, which removes it.
    private let identity: (device: UInt64, inode: UInt64)?

    /// Binds under a temporary name, listens, and renames the socket to `path`, so a client that finds it can connect.
    init(
        path: String, mode: UInt32, group: UInt32?, flag: String = "--socket"
    ) throws(StartFailure) {
        func fail(_ why: String) -> StartFailure {
            StartFailure(description: "\(flag) \(path): \(why)")
        }
        let max = Self.pathByteCountMax
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
        // Users that may write to the folder could place their own socket there while no daemon runs.
        if fstat(descriptor, &folderStatus) == 0, folderStatus.st_mode & S_IWOTH != 0,
            folderStatus.st_mode & S_ISVTX == 0
        {
            throw fail("others may write to \(folder); chmod o-w it, or use another directory")
        }
        // Named through the folder's descriptor, which fits regardless of the path's length.
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

    /// Takes over a socket on which a service manager listens, and which determines mode, group and folder. The mode is
    /// trusted if it only admits the owner and the group.
    init(passed number: Int32) throws(StartFailure) {
        do throws(SystemError) {
            listener = try ListeningSocket(
                listening: OwnedDescriptor(taking: number, from: "LISTEN_FDS"))
        } catch {
            throw StartFailure(
                description:
                    "LISTEN_FDS: descriptor \(number) is not a listening Unix stream socket")
        }
        path = listener.path
        identity = nil
        var status = stat()
        trustsMode = lstat(path, &status) == 0 && status.st_mode & S_IWOTH == 0
    }

    deinit { remove() }

    /// Removes the socket, unless it was passed or replaced by another.
    func remove() {
        var status = stat()
        guard let identity, lstat(path, &status) == 0,
            UInt64(status.st_dev) == identity.device, UInt64(status.st_ino) == identity.inode
        else { return }
        unlink(path)
    }

    /// Why a socket cannot be created at `path`; nil: the path is free, or has a socket without a listener.
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
