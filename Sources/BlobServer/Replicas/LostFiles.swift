import Glibc

/// Writes files below a folder, and syncs them.
struct LostFiles {
    private let folder: String

    init(_ folder: String) throws(SystemError) {
        self.folder = folder
        for name in ["", "/log", "/blob"] where mkdir(folder + name, 0o750) != 0 && errno != EEXIST
        {
            throw SystemError("mkdir")
        }
    }

    mutating func write(_ name: String, _ bytes: [UInt8]) throws(SystemError) {
        let descriptor = try OwnedDescriptor(
            taking: open("\(folder)/\(name)", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o640),
            from: "open")
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(
                    descriptor.number, $0.baseAddress?.advanced(by: offset), $0.count - offset)
            }
            guard count > 0 else { throw SystemError("write") }
            offset += count
        }
        guard fsync(descriptor.number) == 0 else { throw SystemError("fsync") }
    }

    /// Makes the names survive a power cut.
    func finish() throws(SystemError) {
        for name in ["/log", "/blob", "", "/.."] {
            let descriptor = try OwnedDescriptor(
                taking: open(folder + name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), from: "open")
            guard fsync(descriptor.number) == 0 else { throw SystemError("fsync") }
        }
    }
}
