import Glibc

/// A file in the making: written under a temporary name beside its own, and renamed when it is whole. When
/// it is let go before, nothing is left, and what stood there before stands there still.
struct NewFile: ~Copyable {
    private let path: String
    private let temporaryPath: String
    private let descriptor: CInt
    private let isDirect: Bool

    /// Begins. What exists at `path` and is not a file, such as /dev/null or a pipe, is written to directly.
    init(_ path: String) throws(CommandFailure) {
        var status = stat()
        let exists = stat(path, &status) == 0
        let kind = status.st_mode & S_IFMT
        if exists, kind == S_IFDIR {
            throw CommandFailure(.badUsage, "\(path) is a directory; a file is wanted")
        }
        let isDirect = exists && kind != S_IFREG
        let folder = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let name = folder.map { path[path.index(after: $0)...] } ?? path[...]
        let prefix = folder.map { path[...$0] } ?? ""
        let temporaryPath = "\(prefix).\(name.prefix(200)).\(getpid()).part"
        let descriptor =
            isDirect
            ? open(path, O_WRONLY | O_CLOEXEC)
            : open(temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else {
            throw CommandFailure(.badUsage, "\(path): \(errorText(errno))")
        }
        self.path = path
        self.temporaryPath = isDirect ? "" : temporaryPath
        self.descriptor = descriptor
        self.isDirect = isDirect
    }

    deinit {
        close(descriptor)
        // After `keep` there is nothing by this name any more.
        if !isDirect { unlink(temporaryPath) }
    }

    borrowing func write(_ bytes: RawSpan) throws(CommandFailure) {
        if let code = writeAll(bytes, to: descriptor) {
            throw CommandFailure(.refused, "\(path): \(errorText(code))")
        }
    }

    /// Gives the file its name.
    consuming func keep() throws(CommandFailure) {
        guard !isDirect else { return }
        guard rename(temporaryPath, path) == 0 else {
            throw CommandFailure(.refused, "\(path): \(errorText(errno))")
        }
    }
}
