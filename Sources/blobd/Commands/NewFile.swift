import Glibc

/// A file that gets its name when it is complete. If it is destroyed before, an existing file stays as it was.
///
/// Until then it has no name (`O_TMPFILE`), so that not even a killed command leaves anything; on file systems
/// without `O_TMPFILE` it has a temporary one.
struct NewFile: ~Copyable {
    private enum Kind {
        /// Something other than a file exists, such as /dev/null or a pipe, and is written to directly.
        case direct
        case nameless
        case named
    }

    private let path: String
    private let temporaryPath: String
    private let descriptor: CInt
    private let kind: Kind

    /// A directory at `path`, or a folder that is not writable, is bad usage.
    ///
    /// - Parameters:
    ///   - isNew: whether an existing file is bad usage, too.
    ///   - mode: who may read it.
    init(_ path: String, isNew: Bool = false, mode: mode_t = 0o666) throws(CommandFailure) {
        var status = stat()
        let exists = stat(path, &status) == 0
        let type = status.st_mode & S_IFMT
        guard !exists || !isNew else {
            throw CommandFailure(.badUsage, "\(path) exists; give a new name")
        }
        if exists, type == S_IFDIR {
            throw CommandFailure(.badUsage, "\(path) is a directory; give a file")
        }
        let slash = path.lastIndex(of: "/")
        let name = slash.map { path[path.index(after: $0)...] } ?? path[...]
        let folder = Self.folder(of: path)
        let temporaryPath = "\(folder).\(name.prefix(40)).\(getpid()).part"

        var kind = Kind.nameless
        var descriptor: CInt
        if exists, type != S_IFREG {
            kind = .direct
            descriptor = open(path, O_WRONLY | O_CLOEXEC)
        } else {
            descriptor = open(folder, temporaryFileFlags | O_WRONLY | O_CLOEXEC, mode)
            if descriptor < 0, errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL {
                kind = .named
                descriptor = open(
                    temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
            }
        }
        guard descriptor >= 0 else {
            throw CommandFailure(.badUsage, "\(path): \(errorText(errno))")
        }
        self.path = path
        self.temporaryPath = temporaryPath
        self.descriptor = descriptor
        self.kind = kind
    }

    deinit {
        close(descriptor)
        // After `keep` this name is free.
        if kind == .named { unlink(temporaryPath) }
    }

    borrowing func write(_ bytes: RawSpan) throws(CommandFailure) {
        if let code = writeAll(bytes, to: descriptor) {
            throw CommandFailure(.refused, "\(path): \(errorText(code))")
        }
    }

    consuming func keep() throws(CommandFailure) {
        guard kind != .direct else { return }
        // `linkat` replaces nothing, and `rename` does: hence the temporary name.
        if kind == .nameless,
            linkat(
                AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, temporaryPath, AT_SYMLINK_FOLLOW)
                != 0
        {
            throw CommandFailure(.refused, "\(path): \(errorText(errno))")
        }
        guard rename(temporaryPath, path) == 0 else {
            let code = errno
            unlink(temporaryPath)
            throw CommandFailure(.refused, "\(path): \(errorText(code))")
        }
    }
}

extension NewFile {
    /// Gives the file its name, unless that is taken, and syncs both.
    consuming func keepNew() throws(CommandFailure) {
        guard fsync(descriptor) == 0 else {
            throw CommandFailure(.refused, "\(path): \(errorText(errno))")
        }
        let source = kind == .named ? temporaryPath : "/proc/self/fd/\(descriptor)"
        guard linkat(AT_FDCWD, source, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 else {
            throw CommandFailure(.refused, "\(path): \(errorText(errno))")
        }
        let folder = open(Self.folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else {
            throw CommandFailure(.refused, "\(path): \(errorText(errno))")
        }
        defer { close(folder) }
        guard fsync(folder) == 0 else {
            throw CommandFailure(.refused, "\(path): \(errorText(errno))")
        }
    }

    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[...$0]) } ?? "./"
    }
}

/// `O_TMPFILE`, which Glibc defines as a sum of other macros, so that Swift does not import it.
let temporaryFileFlags: CInt = 0o20_000_000 | O_DIRECTORY
