import BlobProtocol
import TestSupport

/// A connection that asks and answers in one of the dialects.
struct Speaker {
    let client: RawClient
    let isBinary: Bool

    init(_ daemon: DaemonProcess, isBinary: Bool) throws {
        try self.init(daemon.socketPath, isBinary: isBinary)
    }

    init(_ socketPath: String, isBinary: Bool) throws {
        client = try RawClient(socketPath)
        self.isBinary = isBinary
        if isBinary { _ = try client.exchange(helloFrame) }
    }

    /// The bytes of a put; without an owner or a time to live where none is given.
    func putRequest(
        _ id: String, _ body: [UInt8], owner: String = "", ttlSeconds: Int64? = nil
    ) throws -> [UInt8] {
        if isBinary {
            return try putFrame(
                Put.Draft(id: id, owner: owner, lifetime: Lifetime(ttlSeconds: ttlSeconds)),
                body: body)
        }
        let ttl = ttlSeconds.map { "&ttl=\($0)" } ?? ""
        return httpRequest(
            "PUT", "/v1/notifications/\(id)/payload?owner=\(owner)\(ttl)", body: body)
    }

    /// The bytes of a get.
    func getRequest(_ id: String) throws -> [UInt8] {
        isBinary ? try getFrame(id) : httpRequest("GET", "/v1/notifications/\(id)/payload")
    }

    /// The bytes of a request without a body.
    func request(_ method: Call.Method, _ target: String) throws -> [UInt8] {
        try TestRequest("\(method)".uppercased(), target).bytes(in: isBinary ? .call : .http)
    }

    /// The bytes of a delete.
    func deleteRequest(_ id: String) throws -> [UInt8] {
        try request(.delete, "/v1/notifications/\(id)")
    }

    func sendPut(_ id: String, _ body: [UInt8], owner: String = "anna") throws {
        client.send(try putRequest(id, body, owner: owner))
    }

    func sendGet(_ id: String) throws { client.send(try getRequest(id)) }

    func sendDelete(_ id: String) throws { client.send(try deleteRequest(id)) }

    /// The next answer.
    func answer() throws -> (status: Int, body: [UInt8]) {
        if isBinary {
            let answer = try client.frameAnswer()
            return (Int(answer.status), answer.body)
        }
        let answer = try client.answer()
        return (answer.status, answer.body)
    }
}
