import Foundation

/// Bytes in a gzip container, as the program `gzip` makes it: one member.
func gzipped(_ bytes: [UInt8]) throws -> [UInt8] {
    let folder = try makeTemporaryFolder()
    defer { removeFolder(folder) }
    try Data(bytes).write(to: URL(fileURLWithPath: "\(folder)/in"))
    let (code, error) = try run([
        "/bin/sh", "-c", "exec gzip -nc '\(folder)/in' > '\(folder)/out'",
    ])
    guard code == 0 else { throw TestFailure("gzip: \(error)") }
    return Array(try Data(contentsOf: URL(fileURLWithPath: "\(folder)/out")))
}

/// A text of so many lines, which shrinks.
func shrinkingText(_ lineCount: Int) -> [UInt8] {
    Array((0..<lineCount).map { "line \($0) of a text that shrinks\n" }.joined().utf8)
}
