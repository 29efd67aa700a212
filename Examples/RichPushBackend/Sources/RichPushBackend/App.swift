import BlobClient
import BlobProtocol
import Foundation
import HTTPTypes
import Hummingbird

/// The calls of the classic rich push tutorial, and two more for devices that belong together. The
/// caller is a user, and reads and changes that user's notifications alone.
struct Backend {
    /// The most bytes of a document that a device sends.
    private static let documentByteCountMax = 64 << 10

    private let socketPath: String
    private let client: BlobdClient
    private let picture: [UInt8]
    private let registrations: Registrations
    private let pushes: Pushes

    /// - Parameter picture: the PNG of the tutorial's notification.
    init(
        socketPath: String, picture: [UInt8], _ registrations: Registrations, _ pushes: Pushes
    ) {
        self.socketPath = socketPath
        self.picture = picture
        self.registrations = registrations
        self.pushes = pushes
        client = BlobdClient(socketPath: socketPath)
    }

    /// - Parameter credentials: `user:password`, one for each user.
    func router(credentials: [String]) -> Router<UserContext> {
        let router = Router(context: UserContext.self)
        router.group("/api")
            .add(middleware: BasicAuthentication(credentials: credentials))
            .post("/register", use: register)
            .put("/register/:id", use: updateRegistration)
            .delete("/register/:id", use: removeRegistration)
            .post("/notifications", use: notify)
            .get("/notifications/:id", use: fetch)
            .head("/notifications/:id", use: fetch)
            .post("/notifications/:id/dismiss", use: dismiss)
            .get("/users/:owner/changes", use: changes)
        return router
    }

    // MARK: - Devices

    /// `POST /api/register?handle=…`: a registration id, as a JSON string. Windows sends no handle.
    @Sendable private func register(
        _ request: Request, _ context: UserContext
    ) async throws -> Response {
        let handle = request.uri.queryParameters["handle"].map(String.init)
        let id = try await registrations.makeID(for: context.user, handle: handle)
        return Response(
            status: .ok, headers: [.contentType: "application/json; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: "\"\(id)\"")))
    }

    /// `PUT /api/register/{id}`: what the device is. 410 tells it to ask for another id.
    @Sendable private func updateRegistration(
        _ request: Request, _ context: UserContext
    ) async throws -> Response {
        let id = try context.parameters.require("id")
        let said: DeviceRegistration = try await document(request)
        guard let service = said.service else {
            throw HTTPError(.badRequest, message: "there is no push service \(said.platform)")
        }
        guard said.hasValidHandle else {
            throw HTTPError(.badRequest, message: "the handle is not valid")
        }
        guard try await registrations.update(id, of: context.user, said, service) else {
            throw HTTPError(.gone)
        }
        return Response(status: .ok)
    }

    @Sendable private func removeRegistration(
        _ request: Request, _ context: UserContext
    ) async throws -> Response {
        let id = try context.parameters.require("id")
        guard try await registrations.remove(id, of: context.user) else {
            throw HTTPError(.notFound)
        }
        return Response(status: .ok)
    }

    // MARK: - Notifications

    /// `POST /api/notifications` without a body: the tutorial's picture, with a silent push to all
    /// devices of the user who asks. With `pns` and `to_tag` the text in the body, a JSON string, goes
    /// to another user's devices of one push service, as an alert.
    @Sendable private func notify(
        _ request: Request, _ context: UserContext
    ) async throws -> Response {
        let query = request.uri.queryParameters
        guard let name = query["pns"] else {
            var upload = NotificationUpload(
                owner: context.user, message: "Check this image out!")
            upload.richType = "img"
            upload.parts = [.init(mediaType: "image/png", .bytes(picture))]
            try await publish(upload, to: context.user, on: nil, .silent)
            return Response(status: .ok)
        }
        guard let service = DeviceRegistration.service(String(name)),
            let recipient = query["to_tag"].map(String.init), !recipient.isEmpty
        else { throw HTTPError(.badRequest, message: "pns is apns, gcm or wns, to_tag a user") }
        let message: String = try await document(request)
        let upload = NotificationUpload(
            owner: recipient, message: "From \(context.user): \(message)")
        try await publish(upload, to: recipient, on: service, .alert)
        return Response(status: .ok)
    }

    /// Stores a notification, and pushes it to a user's devices and to nobody else's. Returns when each
    /// push has been accepted or has failed for good; a large backend would queue them.
    private func publish(
        _ upload: NotificationUpload, to user: String, on service: EnvelopePlatform?,
        _ style: EnvelopeStyle
    ) async throws {
        let notification = try await carryOut { () throws(ClientError) in
            try await client.call(.publish(upload)).notification
        }
        let expiry = try Date(
            notification.expiresAt,
            strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        var rendered: [Push] = []
        for device in await registrations.devices(of: user, on: service) {
            // While an app is in the background, Android shows FCM's alerts itself, without the
            // picture. A data message wakes the app, which shows both.
            let isFCM = device.platform == .fcm
            let envelope = try await carryOut { () throws(ClientError) in
                try await client.call(
                    ifPresent: .envelope(
                        notification.id, device.platform, style: isFCM ? .silent : style,
                        token: isFCM ? device.handle : nil))
            }
            if let envelope {
                rendered.append(Push(device: device, envelope: envelope, expiry: expiry))
            }
        }
        try await withThrowingTaskGroup { group in
            for push in rendered {
                group.addTask {
                    if case .unregistered = try await pushes.send(push) {
                        try await registrations.remove(push.device)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// `GET` and `HEAD /api/notifications/{id}`: the picture of one of the user's notifications, or a
    /// range of it. Another user's is as if there were none.
    @Sendable private func fetch(
        _ request: Request, _ context: UserContext
    ) async throws -> Response {
        let id = try context.parameters.require("id")
        let record = try await own(id, context)
        guard let whole = record.parts.first(where: { $0.name == "payload" }) else {
            throw HTTPError(.notFound)
        }
        var headers: HTTPFields = [
            .contentType: whole.mediaType, .eTag: "\"\(whole.digest)\"", .acceptRanges: "bytes",
            .cacheControl: "private",
        ]
        var wanted: WireRange?
        switch ByteRange(request.headers[.range], of: UInt64(whole.byteCount)) {
        case .whole: headers[.contentLength] = "\(whole.byteCount)"
        case .part(let first, let count):
            wanted = WireRange(first: first, count: count)
            headers[.contentLength] = "\(count)"
            headers[.contentRange] = "bytes \(first)-\(first + count - 1)/\(whole.byteCount)"
        case .unsatisfiable:
            throw HTTPError(
                .rangeNotSatisfiable, headers: [.contentRange: "bytes */\(whole.byteCount)"])
        }
        let status: HTTPResponse.Status = wanted == nil ? .ok : .partialContent
        guard request.method != .head else { return Response(status: status, headers: headers) }
        let payload = try await carryOut { () throws(ClientError) in
            try await client.get(id, range: wanted)
        }
        guard let payload else { throw HTTPError(.notFound) }
        return Response(
            status: status, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: payload.bytes)))
    }

    /// The user has put it away, on the device that `Device` names.
    @Sendable private func dismiss(
        _ request: Request, _ context: UserContext
    ) async throws -> HTTPResponse.Status {
        let id = try context.parameters.require("id")
        _ = try await own(id, context)
        let device = HTTPField.Name("Device").flatMap { request.headers[$0] }
        let receipt = try await carryOut { () throws(ClientError) in
            try await client.call(
                ifPresent: .respond(
                    to: id, ResponseRequest(action: "dismiss"), device: device))
        }
        guard receipt != nil else { throw HTTPError(.notFound) }
        return .noContent
    }

    /// A notification of the user's. Another user's is not found.
    private func own(_ id: String, _ context: UserContext) async throws -> NotificationRecord {
        let record = try await carryOut { () throws(ClientError) in
            try await client.call(ifPresent: .stat(id))
        }
        guard let record, let owner = record.owner,
            owner.utf8.elementsEqual(context.user.utf8)
        else { throw HTTPError(.notFound) }
        return record
    }

    /// What became of the user's notifications since a cursor, waiting for it if asked to.
    @Sendable private func changes(
        _ request: Request, _ context: UserContext
    ) async throws -> Changes {
        let owner = try context.parameters.require("owner")
        guard owner.utf8.elementsEqual(context.user.utf8) else { throw HTTPError(.forbidden) }
        let query = request.uri.queryParameters
        let since = query["since"].map(String.init) ?? "0"
        let wait = query.get("wait", as: Int.self) ?? 0
        // A client's calls follow one another: one that waits has one of its own.
        let waiting = wait > 0 ? BlobdClient(socketPath: socketPath) : client
        let page = try await carryOut { () throws(ClientError) in
            try await waiting.call(.changes(of: owner, since: since, waitSeconds: wait))
        }
        return Changes(
            changes: page.changes.map { change in
                Change(
                    id: change.id, kind: change.kind.name, device: change.device,
                    state: change.notification?.actionState?.name)
            }, next: page.next)
    }

    /// A JSON document, whatever the request calls it.
    private func document<Document: Decodable>(_ request: Request) async throws -> Document {
        let bytes = try await request.body.collect(upTo: Self.documentByteCountMax)
        do {
            return try JSONDecoder().decode(Document.self, from: Data(buffer: bytes))
        } catch {
            throw HTTPError(.badRequest, message: "\(error)")
        }
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

struct Change: Encodable {
    var id, kind: String
    var device, state: String?
}

struct Changes: ResponseEncodable {
    var changes: [Change]
    var next: String
}
