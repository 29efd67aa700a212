import BlobClient
import Foundation
import HTTPTypes
import Hummingbird

/// Publishes pictures, and gives them to the devices that were told of them.
struct Backend {
    /// The largest picture, in bytes.
    private static let pictureByteCountMax = 16 << 20

    private let socketPath: String
    private let client: BlobdClient

    init(socketPath: String) {
        self.socketPath = socketPath
        client = BlobdClient(socketPath: socketPath)
    }

    /// What devices call asks for user and password; publishing is for the house.
    func router(credentials: String) -> Router<BasicRequestContext> {
        let router = Router()
        router.post("/api/notifications", use: publish)
        router.group("/api")
            .add(middleware: BasicAuthentication(credentials: credentials))
            .get("/notifications/:id", use: fetch)
            .post("/notifications/:id/dismiss", use: dismiss)
            .get("/users/:owner/changes", use: changes)
        return router
    }

    /// Stores a picture with what it says, and prints the silent push that wakes the devices.
    @Sendable private func publish(
        _ request: Request, _ context: BasicRequestContext
    ) async throws -> EditedResponse<Published> {
        let query = request.uri.queryParameters
        let picture = try await request.body.collect(upTo: Self.pictureByteCountMax)
        var upload = NotificationUpload(
            owner: query["owner"].map(String.init), message: query["message"].map(String.init))
        upload.richType = query["type"].map(String.init)
        upload.parts = [
            .init(
                mediaType: request.headers[.contentType], .bytes(Array(buffer: picture)))
        ]
        let notification = try await carryOut { () throws(ClientError) in
            try await client.publish(upload).notification
        }
        if let push = try await client.envelope(notification.id, .apns) {
            // Not `print`, which keeps lines back when nobody watches.
            FileHandle.standardOutput.write(Data("push: ".utf8) + push.bytes + [0x0A])
        }
        return EditedResponse(
            status: .created,
            response: Published(
                id: notification.id, message: notification.message,
                richType: notification.richType))
    }

    /// The picture of a notification.
    @Sendable private func fetch(
        _ request: Request, _ context: BasicRequestContext
    ) async throws -> Response {
        let id = try context.parameters.require("id")
        let payload = try await carryOut { () throws(ClientError) in try await client.get(id) }
        guard let payload else { throw HTTPError(.notFound) }
        return Response(
            status: .ok, headers: [.contentType: payload.info.mediaType],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: payload.bytes)))
    }

    /// The user has put it away, on the device that `Device` names.
    @Sendable private func dismiss(
        _ request: Request, _ context: BasicRequestContext
    ) async throws -> HTTPResponse.Status {
        let id = try context.parameters.require("id")
        let device = HTTPField.Name("Device").flatMap { request.headers[$0] }
        let receipt = try await carryOut { () throws(ClientError) in
            try await client.respond(to: id, ResponseRequest(action: "dismiss"), device: device)
        }
        guard receipt != nil else { throw HTTPError(.notFound) }
        return .noContent
    }

    /// What became of a user's notifications since a cursor, waiting for it if asked to.
    @Sendable private func changes(
        _ request: Request, _ context: BasicRequestContext
    ) async throws -> Changes {
        let owner = try context.parameters.require("owner")
        let query = request.uri.queryParameters
        let since = query["since"].map(String.init) ?? "0"
        let wait = query.get("wait", as: Int.self) ?? 0
        // A client's calls follow one another: one that waits has one of its own.
        let waiting = wait > 0 ? BlobdClient(socketPath: socketPath) : client
        let page = try await carryOut { () throws(ClientError) in
            try await waiting.changes(of: owner, since: since, limit: 100, waitSeconds: wait)
        }
        return Changes(
            changes: page.changes.map { change in
                Change(
                    id: change.id, kind: change.kind.rawValue, device: change.device,
                    state: change.notification?.actionState?.rawValue)
            }, next: page.next)
    }

    /// What blobd refuses is refused here, in its words.
    private func carryOut<Result>(
        _ call: () async throws(ClientError) -> Result
    ) async throws -> Result {
        do throws(ClientError) {
            return try await call()
        } catch {
            switch error {
            case .refused(let problem), .resync(let problem), .preconditionFailed(let problem):
                throw HTTPError(.init(code: problem.status), message: problem.description)
            case .invalid: throw HTTPError(.badRequest, message: "\(error)")
            default: throw HTTPError(.badGateway, message: "\(error)")
            }
        }
    }
}

struct Published: ResponseEncodable {
    var id: String
    var message, richType: String?
}

struct Change: Encodable {
    var id, kind: String
    var device, state: String?
}

struct Changes: ResponseEncodable {
    var changes: [Change]
    var next: String
}
