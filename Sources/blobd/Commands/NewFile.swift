import Glibc

/// A file in the making. It gets its name when it is whole. When it is destroyed before, nothing is
/// left, and what stood there before stands there still.
///
/// Until then it has no name at all (`O_TMPFILE`), so that not even a killed command leaves
/// anything. Where the file system does not have that, it has a temporary name beside its own.
struct NewFile: ~Copyable {
    /// How the file comes to its name.
    private enum Kind {
        /// What exists is not a file, such as /dev/null or a pipe, and is written to directly.
        case direct
        case nameless
        case named
    }

    private let path: String
    private let temporaryPath: String
    private let descriptor: CInt
    private let kind: Kind

    /// Begins. A directory at `path`, or a folder where nothing may be made, is bad usage.
    ///
    /// - Parameters:
    ///   - isNew: whether anything that exists at `path` is bad usage, too.
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
        // After `keep` there is nothing by this name any more.
        if kind == .named { unlink(temporaryPath) }
    }

    borrowing func write(_ bytes: RawSpan) throws(CommandFailure) {
        if let code = writeAll(bytes, to: descriptor) {
            throw CommandFailure(.refused, "\(path): \(errorText(code))")
        }
    }

    /// Gives the file its name.
    consuming func keep() throws(CommandFailure) {
        guard kind != .direct else { return }
        // `linkat` does not replace what is there, and `rename` does: hence the name in between.
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
    /// Gives the file its name, unless something has it, and syncs both.
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
