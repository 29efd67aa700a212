import BlobStore
import CLinux
import Glibc
import Logging

/// A file that a daemon leaves in the store's folder when it dies of a fault. The next start then reads all pages of
/// the store before it maps them, so that the same damage does not kill every daemon. It uses `pread`, where a page
/// that the disk cannot read is an error instead of a SIGBUS.
///
/// Only the handler of SIGBUS, SIGSEGV, SIGABRT and similar signals writes it (a failed assertion of liblmdb is
/// SIGABRT). A power cut and `kill -9` leave none.
enum CrashMarker {
    static let fileName = "blobd.died"

    /// Looks for a mark, and enables this process to leave one. Call it once, while the store is locked and not mapped.
    /// Throws ``StoreError/cannotOpen(path:reason:)`` if there is a mark and the store is damaged.
    static func check(_ directory: String, _ log: Logger) throws(StoreError) {
        let path = "\(directory)/\(fileName)"
        if let signal = mark(at: path) {
            // On a full disk the mark is empty.
            let name = signal.map(signalName) ?? "a signal that \(fileName) does not name"
            log.warning(
                "The last run was killed by \(name). Checking all tables before the store is served"
            )
            try checkPages(directory, diedOf: name)
            log.notice("All tables are valid")
            unlink(path)
        }
        // Stays open for the signal handler.
        let folder = clinux_open_folder(directory)
        if folder >= 0 { clinux_note_deaths(folder, fileName) }
    }

    /// The signal that killed the last run, nil inside if that is not known; nil if it left no mark.
    private static func mark(at path: String) -> Int32?? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var text = [UInt8](repeating: 0, count: 16)
        let count = read(descriptor, &text, text.count)
        let digits = text[..<max(0, count)].filter { (0x30...0x39).contains($0) }
        return .some(Int32(String(decoding: digits, as: UTF8.self)))
    }

    private static func checkPages(_ directory: String, diedOf signal: String) throws(StoreError) {
        let why: String
        do throws(StoreError) {
            let report = try BlobStore.checkPages(at: directory)
            guard let first = report.problems.first else { return }
            let more = report.problemCount > 1 ? " (and \(report.problemCount - 1) more)" : ""
            why = "data.mdb is damaged: \(first)\(more)"
        } catch {
            why = "the store cannot be read: \(error)"
        }
        throw .cannotOpen(
            path: directory,
            reason:
                "the last run was killed by \(signal), and \(why). Nothing was changed. Restore the "
                + "directory from a backup; `blobd verify` lists all damage")
    }
}
