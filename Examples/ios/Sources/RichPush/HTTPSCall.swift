import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// An answer other than 2xx, or none.
public struct Failure: Error, Sendable, Hashable {
    /// HTTP's status; 0: there was no answer.
    public let status: Int
    /// The server's words.
    public let detail: String

    /// Whether the same call may succeed later: there is no network, the token has expired, or the server is busy.
    public var isTemporary: Bool { [0, 401, 408, 429].contains(status) || status >= 500 }
}

/// Runs something that ends when it is cancelled, and cancels it after so many seconds.
///
/// - Throws: a ``Failure`` with the status 0 once the time is over.
public func within<Value: Sendable>(
    _ seconds: Double, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await Task.sleep(nanoseconds: UInt64(seconds * 1e9))
            throw Failure(status: 0, detail: "no answer within \(seconds) s")
        }
        defer { group.cancelAll() }
        // There are two tasks, so there is a first one.
        return try await group.next()!
    }
}

/// A call with JSON in both directions.
enum HTTPSCall {
    private static let session: URLSession = {
        let configuration = URLSessionConfiguration.ephemeral
        #if canImport(Darwin)
        // A call that is made in a lift waits for the network, as long as it has time.
        configuration.waitsForConnectivity = true
        #endif
        return URLSession(configuration: configuration, delegate: NoRedirects(), delegateQueue: nil)
    }()

    static func send(
        _ method: String, _ address: String, bearer: String?, _ body: Data? = nil,
        seconds: Double = 10
    ) async throws -> Data {
        guard let url = URL(string: address), url.scheme?.lowercased() == "https" else {
            throw Failure(status: 400, detail: "\(address) is not https")
        }
        var request = URLRequest(url: url, timeoutInterval: seconds)
        request.httpMethod = method
        request.httpBody = body
        if let bearer { request.setValue("Bearer \(bearer)", forHTTPHeaderField: "Authorization") }
        if body != nil { request.setValue("application/json", forHTTPHeaderField: "Content-Type") }
        let (data, response) = try await within(seconds) { [request] in
            do {
                return try await session.data(for: request)
            } catch {
                try Task.checkCancellation()
                throw Failure(status: 0, detail: error.localizedDescription)
            }
        }
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard (200..<300).contains(status) else {
            // blobd's problem documents have a detail, the example backends' an error.
            struct Problem: Decodable { let detail, error: String? }
            let problem = try? JSONDecoder().decode(Problem.self, from: data)
            throw Failure(status: status, detail: problem?.detail ?? problem?.error ?? "")
        }
        return data
    }

    /// A redirect would carry the token to another host. blobd never redirects.
    private final class NoRedirects: NSObject, URLSessionTaskDelegate {
        func urlSession(
            _ session: URLSession, task: URLSessionTask,
            willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
            completionHandler: @escaping (URLRequest?) -> Void
        ) { completionHandler(nil) }
    }
}

extension String {
    /// As a segment of a path, or a value in a query. What is not ASCII is always encoded.
    var percentEncoded: String {
        let unreserved = CharacterSet(charactersIn: "-._~").union(.alphanumerics)
        return addingPercentEncoding(withAllowedCharacters: unreserved) ?? self
    }
}
