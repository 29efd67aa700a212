public import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A payload in a file.
public struct DownloadedPayload: Sendable, Hashable {
    /// Its name ends as its media type asks for. The caller moves or removes it.
    public let file: URL
    /// As the server says it.
    public let mediaType: String
    /// The size of the file.
    public let byteCount: Int
}

/// Why a payload could not be downloaded.
public enum DownloadError: Error, Sendable, Hashable {
    /// The link, or what it redirects to, is not https.
    case insecure
    /// The server's answer: 403 for a link that has expired, 404 and 410 for a notification that has.
    case refused(status: Int)
    case tooLarge(limit: Int)
    /// The bytes are not those that were published, or the server does not say which ones were.
    case wrongDigest
    case timedOut
    /// The connection broke, and so did every attempt to continue.
    case broken(String)

    /// Whether another attempt may help.
    var isTemporary: Bool {
        switch self {
        case .broken: true
        case .refused(let status): status == 429 || status >= 500
        case .insecure, .tooLarge, .wrongDigest, .timedOut: false
        }
    }
}

/// Downloads a payload to a file, as an app extension must: within a time and a size, and with hardly any memory.
public struct PayloadDownload: Sendable {
    /// The largest payload, in bytes. iOS shows no larger picture.
    public var byteCountMax = 10_000_000
    /// How long all attempts together may take, in seconds. An extension has about 30 for all that it does.
    public var seconds = 15.0
    /// How often a request may fail, the last time included.
    public var attemptsMax = 4
    /// The pause after the first failed attempt, in seconds. It doubles.
    public var pauseSeconds = 0.5

    /// A download with the usual limits.
    public init() {}

    /// Where ``run(_:into:)`` puts payloads.
    public static var folder: URL {
        FileManager.default.temporaryDirectory.appendingPathComponent("rich-push")
    }

    /// Downloads what a link names into a folder for downloads only. Continues after a broken connection with the bytes
    /// that are missing, and compares the digest before it returns. Files that are older than an hour are removed: they
    /// are of an extension that iOS has ended.
    ///
    /// - Throws: ``DownloadError``, or `CancellationError` where the task is cancelled. No file is left then.
    public func run(
        _ url: URL, into folder: URL = Self.folder
    ) async throws -> DownloadedPayload {
        guard url.scheme?.lowercased() == "https" else { throw DownloadError.insecure }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        Self.removeLeftovers(in: folder)
        let part = folder.appendingPathComponent("\(UUID().uuidString).part")
        try Data().write(to: part)
        defer { try? FileManager.default.removeItem(at: part) }
        let transfer = Transfer(
            url, to: try FileHandle(forWritingTo: part), byteCountMax: byteCountMax)
        let session = URLSession(
            configuration: .ephemeral, delegate: transfer, delegateQueue: transfer.queue)
        defer { session.invalidateAndCancel() }
        let content: Transfer.Content
        do {
            content = try await within(seconds) { try await pieces(transfer, session) }
        } catch is Failure {
            throw DownloadError.timedOut
        }
        let file = part.deletingPathExtension()
            .appendingPathExtension(MediaTypes.fileExtension(of: content.mediaType))
        try FileManager.default.moveItem(at: part, to: file)
        return DownloadedPayload(
            file: file, mediaType: content.mediaType, byteCount: content.byteCount)
    }

    private static func removeLeftovers(in folder: URL) {
        let files = try? FileManager.default.contentsOfDirectory(
            at: folder, includingPropertiesForKeys: [.contentModificationDateKey])
        for file in files ?? [] {
            let values = try? file.resourceValues(forKeys: [.contentModificationDateKey])
            if let date = values?.contentModificationDate, date.timeIntervalSinceNow < -3_600 {
                try? FileManager.default.removeItem(at: file)
            }
        }
    }

    private func pieces(
        _ transfer: Transfer, _ session: URLSession
    ) async throws -> Transfer.Content {
        var pause = pauseSeconds
        var left = attemptsMax
        while true {
            do {
                if let content = try await transfer.next(session) { return content }
            } catch let error as DownloadError where error.isTemporary && left > 1 {
                left -= 1
                try await Task.sleep(nanoseconds: UInt64(pause * 1e9))
                pause *= 2
            }
        }
    }
}
