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
    /// How long all attempts together may take, in seconds. An extension has about 30.
    public var seconds = 25.0
    /// How often a request may fail, the last time included.
    public var attemptsMax = 4
    /// The pause after the first failed attempt, in seconds. It doubles.
    public var pauseSeconds = 0.5

    /// A download with the usual limits.
    public init() {}

    /// Downloads what a link names into a folder. Continues after a broken connection with the bytes that are missing,
    /// and compares the digest before it returns.
    ///
    /// - Throws: ``DownloadError``, or `CancellationError` where the task is cancelled. No file is left then.
    public func run(_ url: URL, into folder: URL) async throws -> DownloadedPayload {
        guard url.scheme?.lowercased() == "https" else { throw DownloadError.insecure }
        let part = folder.appendingPathComponent("\(UUID().uuidString).part")
        try Data().write(to: part)
        defer { try? FileManager.default.removeItem(at: part) }
        let transfer = Transfer(
            url, to: try FileHandle(forWritingTo: part), byteCountMax: byteCountMax)
        let session = URLSession(
            configuration: .ephemeral, delegate: transfer, delegateQueue: transfer.queue)
        defer { session.invalidateAndCancel() }
        let seconds = seconds
        let content = try await withThrowingTaskGroup(of: Transfer.Content?.self) { group in
            group.addTask { try await pieces(transfer, session) }
            group.addTask {
                try await Task.sleep(nanoseconds: UInt64(seconds * 1e9))
                throw DownloadError.timedOut
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
        guard let content else { throw CancellationError() }
        let file = part.deletingPathExtension()
            .appendingPathExtension(MediaTypes.fileExtension(of: content.mediaType))
        try FileManager.default.moveItem(at: part, to: file)
        return DownloadedPayload(
            file: file, mediaType: content.mediaType, byteCount: content.byteCount)
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
