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

/// A program in the folder of this one.
func programBeside(_ name: String) throws -> String {
    let own = try Files.linkTarget("/proc/self/exe")
    return own.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 } + "/" + name
}
