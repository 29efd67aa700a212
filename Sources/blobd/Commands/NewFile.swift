import Glibc

/// A file that gets its name when it is complete. If it is destroyed earlier, an existing file is unchanged.
///
/// Until then it is unnamed (`O_TMPFILE`), so that even a killed command leaves nothing. On file systems without
/// `O_TMPFILE` it has a temporary name.
struct NewFile: ~Copyable {
    private enum Kind {
        /// The path is not a regular file, but for example /dev/null or a pipe, and is written to directly.
        case direct
        case nameless
        case named
    }

    private let path: String
    private let temporaryPath: String
    private let descriptor: CInt
    private let kind: Kind

    /// A directory at `path`, or a folder that is not writable, is bad usage.
    init(_ path: String, isNew: Bool = false, mode: mode_t = 0o666) throws(CommandFailure) {
        var status = stat()
        let exists = stat(path, &status) == 0
        let type = status.st_mode & S_IFMT
        guard !exists || !isNew else {
            throw CommandFailure(.badUsage, "\(path) already exists; give a new name")
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
        // After `keep` nothing has this name.
        if kind == .named { unlink(temporaryPath) }
    }

    private borrowing func failed() -> CommandFailure {
        CommandFailure(.refused, "\(path): \(errorText(errno))")
    }

    borrowing func write(_ bytes: RawSpan) throws(CommandFailure) {
        if let code = writeAll(bytes, to: descriptor) {
            throw CommandFailure(.refused, "\(path): \(errorText(code))")
        }
    }

    private borrowing func link(_ source: String, as name: String) throws(CommandFailure) {
        guard linkat(AT_FDCWD, source, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0 else {
            throw failed()
        }
    }

    consuming func keep() throws(CommandFailure) {
        guard kind != .direct else { return }
        // `linkat` does not replace a file, but `rename` does: hence the temporary name.
        if kind == .nameless { try link("/proc/self/fd/\(descriptor)", as: temporaryPath) }
        guard rename(temporaryPath, path) == 0 else {
            let failure = failed()
            unlink(temporaryPath)
            throw failure
        }
    }

    /// Gives the file its name, unless that exists, and syncs both.
    consuming func keepNew() throws(CommandFailure) {
        guard fsync(descriptor) == 0 else { throw failed() }
        try link(kind == .named ? temporaryPath : "/proc/self/fd/\(descriptor)", as: path)
        let folder = open(Self.folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw failed() }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw failed() }
    }

    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[...$0]) } ?? "./"
    }
}

extension NewFile {
    /// Writes a binary result to a new file, or to standard output (`-`). The summary goes to the other stream.
    static func write<Result>(
        _ kind: String, to file: String, _ body: ((RawSpan) throws -> Void) throws -> Result,
        summary: (Result) throws -> String
    ) throws {
        guard file != "-" else {
            guard !StandardOutput.isTerminal else {
                throw CommandFailure(
                    .badUsage, "\(kind) is binary and standard output is a terminal; give a file")
            }
            return StandardError.write(try summary(try body { try StandardOutput.write($0) }))
        }
        let target = try NewFile(file, isNew: true, mode: 0o600)
        let result = try body { try target.write($0) }
        try target.keepNew()
        try StandardOutput.write(try summary(result))
    }
}

/// `O_TMPFILE`, which Glibc defines in terms of other macros, so that Swift does not import it.
let temporaryFileFlags: CInt = 0o20_000_000 | O_DIRECTORY
