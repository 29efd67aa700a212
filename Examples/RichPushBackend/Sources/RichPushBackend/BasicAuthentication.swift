import Foundation
import Hummingbird

/// Lets only those through who know the user and the password (RFC 7617).
struct BasicAuthentication<Context: RequestContext>: RouterMiddleware {
    private let expected: [UInt8]

    /// - Parameter credentials: `user:password`.
    init(credentials: String) {
        expected = Array("Basic \(Data(credentials.utf8).base64EncodedString())".utf8)
    }

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard let given = request.headers[.authorization], isExpected(Array(given.utf8)) else {
            throw HTTPError(
                .unauthorized, headers: [.wwwAuthenticate: "Basic realm=\"notifications\""])
        }
        return try await next(request, context)
    }

    /// Takes as long wherever the first difference is, so that time tells nothing of the password.
    private func isExpected(_ given: [UInt8]) -> Bool {
        guard given.count == expected.count else { return false }
        return zip(given, expected).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
