import Foundation
import Hummingbird

/// What a request has besides itself: who makes it.
struct UserContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// Known behind ``BasicAuthentication``.
    var user = ""

    init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
    }
}

/// Lets only those through who know a user and the password (RFC 7617), and says who it is.
struct BasicAuthentication: RouterMiddleware {
    typealias Context = UserContext

    private let known: [(user: String, field: [UInt8])]

    /// - Parameter credentials: `user:password`, one for each user.
    init(credentials: [String]) {
        known = credentials.map { text in
            (
                String(text.prefix { $0 != ":" }),
                Array("Basic \(Data(text.utf8).base64EncodedString())".utf8)
            )
        }
    }

    func handle(
        _ request: Request, context: UserContext,
        next: (Request, UserContext) async throws -> Response
    ) async throws -> Response {
        guard let given = request.headers[.authorization], let user = user(Array(given.utf8)) else {
            throw HTTPError(
                .unauthorized, headers: [.wwwAuthenticate: "Basic realm=\"notifications\""])
        }
        var context = context
        context.user = user
        return try await next(request, context)
    }

    /// Looks at all of them, so that time tells nothing of who there is.
    private func user(_ given: [UInt8]) -> String? {
        var found: String?
        for (user, field) in known where Self.isSame(given, field) { found = user }
        return found
    }

    /// Takes as long wherever the first difference is, so that time tells nothing of the password.
    private static func isSame(_ given: [UInt8], _ expected: [UInt8]) -> Bool {
        guard given.count == expected.count else { return false }
        return zip(given, expected).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
