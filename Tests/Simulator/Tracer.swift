import BlobStore
import Hashing

/// The trace of a run: printed, or only its hash.
final class Tracer {
    enum Mode { case off, hashes, prints }

    private let mode: Mode
    private var hash = SHA256()

    init(_ mode: Mode) { self.mode = mode }

    var isOn: Bool { mode != .off }

    func add(_ line: String) {
        if mode == .prints { print(line) }
        hash.update(line.utf8.span.bytes)
    }

    /// Of all lines.
    func finish() -> String { Digest(hash.digest()).description }
}
