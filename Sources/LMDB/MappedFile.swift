internal import CLMDB
internal import Glibc

/// Where `data.mdb` is mapped, which gives the file offset of a borrowed value. LMDB 0.9.24 does not say. So it is
/// looked up in `/proc/self/maps`, and the first bytes of both meta pages are compared with the file.
@safe package struct MappedFile: @unchecked Sendable {
    // Sendable: an address that never changes as long as the environment is open.
    private let start: UnsafeRawPointer
    private let mapByteCount: Int
    /// The descriptor of `data.mdb`, which is the environment's.
    package let descriptor: Int32

    /// The address of the first byte.
    var startAddress: UInt { unsafe UInt(bitPattern: start) }

    /// Finds the map of an environment. Returns nil where there is no `/proc`, or what is mapped does not agree
    /// with the file.
    init?(_ environment: OpaquePointer, pageByteCount: Int) {
        var data: Int32 = -1
        _ = unsafe mdb_env_get_fd(environment, &data)
        descriptor = data
        guard let path = Self.path(of: descriptor), let found = unsafe Self.find(path) else {
            return nil
        }
        unsafe start = found
        var info = unsafe MDB_envinfo()
        _ = unsafe mdb_env_info(environment, &info)
        mapByteCount = unsafe info.me_mapsize
        // Both meta pages: LMDB's magic number is in them. The environment has just been opened, so
        // nothing changes these bytes meanwhile.
        for page in 0..<2 {
            let offset = page * pageByteCount
            guard unsafe Self.agrees(start + offset, descriptor, at: offset) else { return nil }
        }
    }

    /// Whether an address is in the map.
    @inline(__always)
    package func contains(_ address: UnsafeRawPointer) -> Bool {
        unsafe UInt(bitPattern: address) &- UInt(bitPattern: start) < UInt(mapByteCount)
    }

    /// The file offset of a value, in bytes.
    ///
    /// - Parameter value: borrowed from a read transaction of the same environment.
    @inline(__always)
    package func offset(of value: UnsafeRawPointer) -> Int { unsafe value - start }

    /// Whether both meta pages are of the version that ``PageLayout`` describes.
    func hasKnownFormat(pageByteCount: Int) -> Bool {
        (0..<2).allSatisfy { number in
            let page = unsafe start + number * pageByteCount
            return unsafe page.load(fromByteOffset: PageLayout.metaMagicOffset, as: UInt32.self)
                == PageLayout.magic
                && page.load(fromByteOffset: PageLayout.metaVersionOffset, as: UInt32.self)
                    == PageLayout.version
        }
    }

    /// The path of a descriptor's file, as the kernel has it.
    private static func path(of descriptor: Int32) -> String? {
        var name = [CChar](repeating: 0, count: 4_096)
        let count = unsafe readlink("/proc/self/fd/\(descriptor)", &name, name.count)
        guard count > 0, count < name.count else { return nil }
        return String(decoding: name[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// The lowest address at which the beginning of the file is mapped.
    private static func find(_ path: String) -> UnsafeRawPointer? {
        for line in lines(of: "/proc/self/maps") {
            // address-address permissions offset device inode path
            let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
            guard fields.count == 6, fields[2].allSatisfy({ $0 == "0" }),
                fields[5].drop(while: { $0 == " " }) == path,
                let address = UInt(fields[0].prefix { $0 != "-" }, radix: 16)
            else { continue }
            return unsafe UnsafeRawPointer(bitPattern: address)
        }
        return nil
    }

    private static func lines(of path: String) -> [Substring] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes {
                unsafe read(descriptor, $0.baseAddress, $0.count)
            }
            guard count > 0 else { break }
            text += buffer[..<count]
        }
        return String(decoding: text, as: UTF8.self).split(separator: "\n")
    }

    /// Whether the map and the file have the same 64 bytes at an offset.
    private static func agrees(
        _ mapped: UnsafeRawPointer, _ descriptor: Int32, at offset: Int
    ) -> Bool {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = unsafe bytes.withUnsafeMutableBytes {
            unsafe pread(descriptor, $0.baseAddress, $0.count, off_t(offset))
        }
        guard count == bytes.count else { return false }
        return unsafe bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return false }
            return unsafe memcmp(start, mapped, bytes.count) == 0
        }
    }
}
