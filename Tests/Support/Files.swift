import Glibc

/// Files and folders as tests need them. Never for a file that a store of this process has open:
/// closing it would drop the store's locks.
public enum Files {
    /// The folder of this package.
    public static let package: String = {
        // …/Tests/Support/Files.swift
        "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    }()

    /// The folder of the test bundle, where the programs are built too.
    public static let products: String = {
        // `swift test` runs the bundle in a program of the toolchain; its path is then an argument.
        let own = (try? linkTarget("/proc/self/exe")) ?? ""
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }
        for path in [own, bundle ?? ""] {
            let folder = path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
            if exists("\(folder)/blobd") { return folder }
        }
        return "no-blobd-beside-the-tests"
    }()

    /// What a symbolic link points to.
    public static func linkTarget(_ path: String) throws -> String {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = readlink(path, &bytes, bytes.count)
        guard count >= 0 else { throw TestFailure(path, errno) }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    /// All bytes of a file, also of one in `/proc`, which has no length.
    public static func read(_ path: String) throws -> [UInt8] {
        let descriptor = try open(path, O_RDONLY)
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            let count = Glibc.read(descriptor, &piece, piece.count)
            guard count >= 0 else { throw TestFailure(path, errno) }
            if count == 0 { return bytes }
            bytes += piece[..<count]
        }
    }

    /// A file's text; empty when there is none.
    public static func text(_ path: String) -> String {
        String(decoding: (try? read(path)) ?? [], as: UTF8.self)
    }

    /// Makes a file of these bytes, or replaces what it has.
    public static func write(_ bytes: [UInt8], to path: String) throws {
        let descriptor = try open(path, O_WRONLY | O_CREAT | O_TRUNC)
        defer { close(descriptor) }
        try write(bytes, at: 0, to: descriptor, path)
    }

    /// Changes some bytes of a file in place.
    public static func overwrite(_ bytes: [UInt8], at offset: Int, in path: String) throws {
        let descriptor = try open(path, O_WRONLY)
        defer { close(descriptor) }
        try write(bytes, at: offset, to: descriptor, path)
    }

    /// Changes the first of some bytes that stand in a file, as a disk does it.
    public static func damage(_ bytes: some Collection<UInt8>, in path: String) throws {
        let wanted = Array(bytes)
        guard let found = try read(path).firstRange(of: wanted) else {
            throw TestFailure("\(path) does not have these bytes")
        }
        try overwrite([wanted[0] ^ 0x10], at: found.lowerBound, in: path)
    }

    /// A field of the header of a page of `data.mdb`.
    public enum PageField: Int, CaseIterable, Sendable {
        case number = 0
        case flags = 10
        case pageCount = 12
    }

    /// Changes the header of the page with some bytes that stand in its file, and nothing else of it.
    ///
    /// - Parameter bit: of the field's first byte.
    public static func damageHeader(
        ofPageWith bytes: some Collection<UInt8>, _ field: PageField, bit: UInt8 = 0,
        in path: String
    ) throws {
        let file = try read(path)
        guard let found = file.firstRange(of: Array(bytes)) else {
            throw TestFailure("\(path) does not have these bytes")
        }
        let place = found.lowerBound / 4_096 * 4_096 + field.rawValue
        try overwrite([file[place] ^ 1 << bit], at: place, in: path)
    }

    private static func open(_ path: String, _ flags: Int32) throws -> Int32 {
        let descriptor = Glibc.open(path, flags | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw TestFailure(path, errno) }
        return descriptor
    }

    private static func write(
        _ bytes: [UInt8], at offset: Int, to descriptor: Int32, _ path: String
    ) throws {
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes {
                pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset + written))
            }
            guard count > 0 else { throw TestFailure(path, errno) }
            written += count
        }
    }

    /// The size of a file, which is not opened.
    public static func byteCount(_ path: String) throws -> Int {
        var status = stat()
        guard stat(path, &status) == 0 else { throw TestFailure(path, errno) }
        return Int(status.st_size)
    }

    /// Whether something has that name, be it a link to nothing.
    public static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// The names in a folder, sorted; none when there is no such folder.
    public static func names(in path: String) -> [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Removes a file, or a folder with all that is in it.
    public static func remove(_ path: String) {
        if unlink(path) == 0 { return }
        for name in names(in: path) { remove("\(path)/\(name)") }
        rmdir(path)
    }

    /// Makes a new folder. Its name is short, because a socket's path may have 107 bytes.
    public static func makeFolder(in parent: String = "/tmp", _ name: String) throws -> String {
        var template = Array("\(parent)/\(name).XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw TestFailure("mkdtemp in \(parent)", errno) }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
