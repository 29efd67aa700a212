import BlobStore
import Glibc

enum LocalStore {
    /// Whether the directory contains no store. False if that cannot be told: opening the store then says why.
    static func isMissing(_ directory: String) -> Bool {
        access("\(directory)/data.mdb", F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)
    }

    /// Opens the store for reading. A missing directory is bad usage; a store that cannot be opened is a refusal, with
    /// the reason.
    static func open(_ directory: String) throws(CommandFailure) -> BlobStore {
        var status = stat()
        guard stat(directory, &status) == 0 else {
            throw CommandFailure(.badUsage, "\(directory): \(errorText(errno))")
        }
        do {
            return try BlobStore.openReadOnly(at: directory)
        } catch {
            throw CommandFailure(.refused, "\(error)")
        }
    }

    /// A copy of a part (nil: `payload`). Throws `notFound` if it does not exist or has expired.
    static func payload(
        _ store: BlobStore, _ id: String, part: String?
    ) throws -> (bytes: [UInt8], mediaType: String, digest: String) {
        let now = Timestamp(milliseconds: wallClockMilliseconds())
        do {
            // Copied: a snapshot must not wait for a slow reader of standard output.
            let found = try store.withPayload(for: id, part: part ?? "payload", asOf: now) {
                payload in
                let type = payload.mediaType.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
                return (try payload.ownedBytes(), type, "\(payload.digest)")
            }
            guard let found else {
                if let moment = try expiry(store, id, asOf: now) {
                    throw CommandFailure(
                        .notFound,
                        "'\(id)' expired at \(CommandLineText.text(milliseconds: moment.milliseconds))"
                    )
                }
                throw CommandFailure(
                    .notFound,
                    "notification '\(id)' or its part '\(part ?? "payload")' was not found")
            }
            return found
        } catch let error as StoreError {
            throw CommandFailure(.refused, "\(error)")
        }
    }

    private static func expiry(
        _ store: BlobStore, _ id: String, asOf now: Timestamp
    ) throws(StoreError) -> Timestamp? {
        let snapshot = try store.makeSnapshot()
        guard case .expired(let moment) = try snapshot.record(for: id.utf8.span.bytes, asOf: now)
        else { return nil }
        return moment
    }
}
