import BlobProtocol
import Notifications

/// Ids from a file, one a line, for commands that do the same for many notifications.
enum IDList {
    /// The largest list, in bytes.
    static let byteCountMax: UInt64 = 1 << 28

    /// The ids in `path` (`-`: standard input), in their order. Empty lines are skipped.
    /// Every one is checked, so that a bad one is found before anything is done for the others.
    static func read(_ path: String) throws -> [String] {
        let file = try PayloadFile(path, byteCountMax: byteCountMax)
        guard file.byteCount <= byteCountMax else {
            throw CommandFailure(
                .badUsage,
                "\(path) is \(file.byteCount) bytes long; the limit for a list is \(byteCountMax)")
        }
        let bytes = try file.readAll()
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(.badUsage, "\(path) is not UTF-8")
        }
        var ids: [String] = []
        // Line ends are bytes here; as a Character CR LF would be one of another kind.
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() where !line.isEmpty {
            let id = Array(line)
            do {
                try TextKind.id.check(id.span.bytes)
            } catch {
                throw CommandFailure(.badUsage, "\(path), line \(index + 1): \(error.detail)")
            }
            ids.append(String(decoding: id, as: UTF8.self))
        }
        return ids
    }
}
