import Glibc

/// Something the test itself could not do.
struct TestFailure: Error, CustomStringConvertible {
    let description: String

    init(_ what: String, _ code: Int32? = nil) {
        description = code.map { "\(what): \(String(cString: strerror($0)))" } ?? what
    }
}

/// A new folder under the system's temporary one, with a short name: a socket's path is limited.
func makeTemporaryFolder() throws -> String {
    var name = Array("/tmp/blobd-test.XXXXXX".utf8CString)
    guard mkdtemp(&name) != nil else { throw TestFailure("mkdtemp", errno) }
    return String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// Removes a test's folder and what is in it, two levels deep.
func removeFolder(_ path: String) {
    for name in entries(path) {
        let entry = "\(path)/\(name)"
        for inner in entries(entry) { unlink("\(entry)/\(inner)") }
        if unlink(entry) != 0 { rmdir(entry) }
    }
    rmdir(path)
}

private func entries(_ path: String) -> [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != "." && name != ".." { names.append(name) }
    }
    return names
}

/// A file's text; empty when there is none.
func readText(_ path: String) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = read(descriptor, &buffer, buffer.count)
        if count <= 0 { break }
        bytes.append(contentsOf: buffer.prefix(count))
    }
    return String(decoding: bytes, as: UTF8.self)
}

/// A number from `/proc/{pid}/status`, such as `VmRSS`, in the unit the kernel gives it in; 0 when
/// there is none.
func processStatus(_ pid: pid_t, _ name: String) -> Int {
    for line in readText("/proc/\(pid)/status").split(separator: "\n")
    where line.hasPrefix("\(name):") {
        return Int(line.filter(\.isNumber)) ?? 0
    }
    return 0
}

/// Bytes that look random and are the same for the same seed (SplitMix64).
struct SeededBytes: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count {
            withUnsafeBytes(of: next()) { bytes.append(contentsOf: $0) }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}
