import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The requests for one payload, piece by piece. Bytes go to the file and the hash as they come.
///
/// In pieces, because URLSession keeps in memory what its delegate has not taken yet.
///
/// Shared between threads, and safe: everything that changes is used on ``queue`` only, which runs one thing at a time,
/// and on which URLSession calls this delegate.
final class Transfer: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    /// What was downloaded.
    struct Content: Sendable {
        let mediaType: String
        let byteCount: Int
    }

    /// Bytes of a piece. Most pictures are one.
    private static let pieceByteCount = 4 << 20

    let queue = OperationQueue()
    private let url: URL
    private let file: FileHandle
    private let byteCountMax: Int

    private var continuation: CheckedContinuation<Content?, any Error>?
    private var failure: DownloadError?
    private var digest = PayloadHash()
    /// Bytes that are in the file.
    private var byteCount = 0
    private var mediaType = ""
    private var entityTag: String?
    /// Where the piece ends; nil: at the end of the payload.
    private var pieceEnd: Int?
    /// Bytes of the whole payload; nil: not known.
    private var totalByteCount: Int?

    init(_ url: URL, to file: FileHandle, byteCountMax: Int) {
        self.url = url
        self.file = file
        self.byteCountMax = byteCountMax
        queue.maxConcurrentOperationCount = 1
    }

    /// Downloads the next piece. Returns nil while there are more.
    func next(_ session: URLSession) async throws -> Content? {
        let task = try await makeTask(session)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                queue.addOperation {
                    self.continuation = continuation
                    task.resume()
                }
            }
        } onCancel: {
            task.cancel()
        }
    }

    private func makeTask(_ session: URLSession) async throws -> URLSessionDataTask {
        try Task.checkCancellation()
        return await withCheckedContinuation { continuation in
            queue.addOperation {
                self.failure = nil
                var request = URLRequest(
                    url: self.url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: 10)
                request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
                let last = self.byteCount + Self.pieceByteCount - 1
                request.setValue("bytes=\(self.byteCount)-\(last)", forHTTPHeaderField: "Range")
                // Other bytes under the same link are sent from their beginning.
                request.setValue(self.entityTag, forHTTPHeaderField: "If-Range")
                continuation.resume(returning: session.dataTask(with: request))
            }
        }
    }

    // MARK: URLSession's calls

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
        completionHandler: @escaping (URLRequest?) -> Void
    ) {
        guard request.url?.scheme?.lowercased() == "https" else {
            failure = .insecure
            return completionHandler(nil)
        }
        completionHandler(request)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        failure = failure ?? begin(response)
        if failure != nil { dataTask.cancel() }
        completionHandler(failure == nil ? .allow : .cancel)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        guard failure == nil else { return }
        guard data.count <= byteCountMax - byteCount else {
            failure = .tooLarge(limit: byteCountMax)
            return dataTask.cancel()
        }
        do {
            try file.write(contentsOf: data)
        } catch {
            failure = .broken("the file cannot be written: \(error.localizedDescription)")
            return dataTask.cancel()
        }
        digest.update(data)
        byteCount += data.count
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
        let continuation = continuation
        self.continuation = nil
        if let failure = failure ?? end(error) {
            continuation?.resume(throwing: failure)
        } else {
            let isWhole = byteCount == totalByteCount ?? byteCount
            continuation?.resume(
                returning: isWhole ? Content(mediaType: mediaType, byteCount: byteCount) : nil)
        }
    }

    // MARK: Answers

    /// Reads an answer's head. Returns why its body is not wanted.
    private func begin(_ response: URLResponse) -> DownloadError? {
        guard let response = response as? HTTPURLResponse else { return .broken("not HTTP") }
        switch response.statusCode {
        case 200:
            do {
                try file.truncate(atOffset: 0)
            } catch {
                return .broken("the file cannot be written: \(error.localizedDescription)")
            }
            (digest, byteCount) = (PayloadHash(), 0)
            pieceEnd = nil
            totalByteCount =
                response.value(forHTTPHeaderField: "Content-Length").flatMap { Int($0) }
        case 206:
            // bytes FIRST-LAST/ALL
            let numbers = (response.value(forHTTPHeaderField: "Content-Range") ?? "")
                .split { !$0.isNumber }.compactMap { Int($0) }
            guard numbers.count == 3, numbers[0] == byteCount else {
                return .broken("the server sent another range")
            }
            if byteCount == 0 { digest = PayloadHash() }
            pieceEnd = numbers[1] + 1
            totalByteCount = numbers[2]
        default: return .refused(status: response.statusCode)
        }
        if let totalByteCount, totalByteCount > byteCountMax {
            return .tooLarge(limit: byteCountMax)
        }
        entityTag = response.value(forHTTPHeaderField: "ETag")
        mediaType =
            response.value(forHTTPHeaderField: "Content-Type") ?? "application/octet-stream"
        return nil
    }

    /// What is wrong with a body that has ended.
    private func end(_ error: (any Error)?) -> DownloadError? {
        if let error { return .broken(error.localizedDescription) }
        if let end = pieceEnd ?? totalByteCount, byteCount < end {
            return .broken("\(byteCount) of \(end) bytes came")
        }
        if let totalByteCount, byteCount < totalByteCount { return nil }
        // "sha256:…", as strong or weak tag, of the bytes as given or of their gzip form.
        let tag = (entityTag ?? "").replacingOccurrences(of: "W/", with: "")
            .replacingOccurrences(of: "-gzip", with: "").replacingOccurrences(of: "\"", with: "")
        return tag == digest.text ? nil : .wrongDigest
    }
}
