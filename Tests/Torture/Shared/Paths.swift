import Glibc
import TestSupport

/// A path without links; the file must be there.
func withoutLinks(_ path: String) throws -> String {
    guard let resolved = realpath(path, nil) else {
        throw TestFailure("\(path) cannot be resolved: \(words(errno))")
    }
    defer { free(resolved) }
    return String(cString: resolved)
}

/// Does something with a folder in memory, where there is such a thing, for thousands of images. It is removed
/// afterwards unless `body` says that it is to be kept.
func withMemoryFolder<Result>(
    _ name: String, isKept: Bool, _ body: (_ path: String, _ isKept: inout Bool) throws -> Result
) throws -> Result {
    let parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
    let folder = try withoutLinks(try Files.makeFolder(in: parent, name))
    var isKept = isKept
    defer { if isKept { say("kept: \(folder)") } else { Files.remove(folder) } }
    return try body(folder, &isKept)
}

/// A program in the folder of this one.
func programBeside(_ name: String) throws -> String {
    let own = try Files.linkTarget("/proc/self/exe")
    return own.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 } + "/" + name
}
