import Glibc
import Synchronization

/// A server of HTTP on loopback that answers as a test says: each request whole, late, cut, wrong, or never.
///
/// It has a thread for each connection. All end with its last reference.
public final class ScriptedServer: Sendable {
    /// A request, as it came.
    public struct Request: Sendable {
        /// Counts the requests of the server, from 0.
        public var number: Int
        /// Counts its connections, from 0.
        public var connection: Int
        /// `GET`, `PUT` …
        public var method: String
        /// Path and query.
        public var target: String
        /// By their names in lower case.
        public var headers: [String: String]
        /// As long as its `Content-Length`.
        public var body: [UInt8]

        /// The head's first line and headers, as they came.
        public var head: [String]
    }

    /// What is done for an answer, in this order.
    public enum Step: Sendable {
        case send([UInt8])
        /// One byte, a pause of a millisecond, the next.
        case sendSlowly([UInt8])
        /// These bytes again and again, until the client has gone.
        case sendForever([UInt8])
        /// Nothing, until the client has gone.
        case hold
        /// No more of this connection.
        case close
        /// The same, so that the client's next call fails.
        case reset

        /// Text with `\n` for line ends.
        public static func text(_ text: String) -> Step {
            .send(Array(text.replacing("\n", with: "\r\n").utf8))
        }

        /// A whole answer.
        public static func answer(
            _ status: Int, _ headers: [String] = [], body: String = ""
        ) -> Step {
            .send(
                Array(
                    ("HTTP/1.1 \(status) Words\r\nContent-Length: \(body.utf8.count)\r\n"
                        + headers.map { "\($0)\r\n" }.joined() + "\r\n\(body)").utf8))
        }

        /// S3's answer to a put.
        public static var stored: Step { .answer(200, ["ETag: \"0123\""]) }

        /// An error of S3.
        public static func error(
            _ status: Int, _ code: String, _ headers: [String] = [], more: String = ""
        ) -> Step {
            .answer(
                status, ["Content-Type: application/xml"] + headers,
                body: "<?xml version=\"1.0\"?>\n<Error><Code>\(code)</Code>\(more)</Error>")
        }
    }

    /// Answers a request, given all that came before.
    public typealias Script = @Sendable (Request) -> [Step]

    /// Where it listens, on 127.0.0.1.
    public let port: UInt16
    private let listener: Int32
    private let shared: Shared

    /// What its threads have of it.
    private final class Shared: Sendable {
        let script: Script
        let state = Mutex(State())

        init(_ script: @escaping Script) { self.script = script }
    }

    private struct State {
        var requests: [Request] = []
        var connections: Set<Int32> = []
        var connectionCount = 0
        var closedCount = 0
        var isStopped = false
    }

    /// Listens on a port that is free.
    public init(_ script: @escaping Script) throws {
        (listener, port) = try listenOnLoopback()
        let listener = listener
        let shared = Shared(script)
        self.shared = shared
        startThread {
            while true {
                let connection = accept(listener, nil, nil)
                if connection < 0 && errno == EINTR { continue }
                guard connection >= 0 else { return }
                _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
                let number: Int? = shared.state.withLock { state in
                    guard !state.isStopped else { return nil }
                    state.connections.insert(connection)
                    state.connectionCount += 1
                    return state.connectionCount - 1
                }
                guard let number else {
                    close(connection)
                    return
                }
                startThread { Self.serve(connection, number, shared) }
            }
        }
    }

    deinit {
        shared.state.withLock { state in
            state.isStopped = true
            // Their threads close them.
            for connection in state.connections { shutdown(connection, Int32(SHUT_RDWR)) }
        }
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// All requests so far.
    public var requests: [Request] { shared.state.withLock { $0.requests } }

    /// How many requests have come.
    public var requestCount: Int { shared.state.withLock { $0.requests.count } }

    /// The address that a client has it by.
    public var url: String { "http://127.0.0.1:\(port)" }

    /// Waits until so many connections have been closed by it.
    public func waitForClosed(_ count: Int) throws {
        try wait(for: "\(count) connections were not closed") { $0.closedCount >= count }
    }

    /// Waits until so many requests have come.
    public func waitForRequests(_ count: Int) throws {
        try wait(for: "\(count) requests did not come") { $0.requests.count >= count }
    }

    private func wait(for what: String, until condition: (State) -> Bool) throws {
        let patience = Patience()
        while !condition(shared.state.withLock { $0 }) { try patience.wait(orThrow: what) }
    }

    private static func serve(_ connection: Int32, _ number: Int, _ shared: Shared) {
        var input = ConnectionInput(descriptor: connection)
        while let request = input.request(of: number) {
            let counted = shared.state.withLock { state in
                var request = request
                request.number = state.requests.count
                state.requests.append(request)
                return request
            }
            guard shared.script(counted).allSatisfy({ perform($0, connection) }) else { break }
        }
        shared.state.withLock { state in
            state.connections.remove(connection)
            close(connection)
            state.closedCount += 1
        }
    }

    /// False: the connection is over.
    private static func perform(_ step: Step, _ connection: Int32) -> Bool {
        switch step {
        case .send(let bytes): return sendAll(bytes, to: connection)
        case .sendSlowly(let bytes):
            return bytes.allSatisfy { byte in
                usleep(1_000)
                return sendAll([byte], to: connection)
            }
        case .sendForever(let bytes):
            while sendAll(bytes, to: connection) {}
            return false
        case .hold:
            var byte: UInt8 = 0
            while recv(connection, &byte, 1, 0) > 0 {}
            return false
        case .close:
            // Also where a program that was just started has a copy of it.
            shutdown(connection, Int32(SHUT_RDWR))
            return false
        case .reset:
            var option = linger(l_onoff: 1, l_linger: 0)
            setsockopt(
                connection, SOL_SOCKET, SO_LINGER, &option,
                socklen_t(MemoryLayout<linger>.size))
            return false
        }
    }
}

/// Reads requests from a connection.
private struct ConnectionInput {
    let descriptor: Int32
    var buffer: [UInt8] = []

    /// The next whole request; nil when the client has gone.
    mutating func request(of connection: Int) -> ScriptedServer.Request? {
        var end = buffer.firstRange(of: [13, 10, 13, 10])
        while end == nil {
            guard fill() else { return nil }
            end = buffer.firstRange(of: [13, 10, 13, 10])
        }
        guard let end else { return nil }
        let head = String(decoding: buffer[..<end.lowerBound], as: UTF8.self)
            .split(separator: "\r\n").map { String($0) }
        buffer.removeSubrange(..<end.upperBound)
        var headers: [String: String] = [:]
        for line in head.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { continue }
            headers[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
        }
        let length = headers["content-length"].flatMap { Int($0) } ?? 0
        while buffer.count < length {
            guard fill() else { return nil }
        }
        let body = Array(buffer[..<length])
        buffer.removeSubrange(..<length)
        let words = (head.first ?? "").split(separator: " ").map { String($0) }
        return ScriptedServer.Request(
            number: 0, connection: connection, method: words.first ?? "",
            target: words.count > 1 ? words[1] : "", headers: headers, body: body, head: head)
    }

    private mutating func fill() -> Bool {
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(descriptor, &piece, piece.count, 0)
        guard count > 0 else { return false }
        buffer += piece[..<count]
        return true
    }
}

private func sendAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var sent = 0
    while sent < bytes.count {
        let count = bytes[sent...].withUnsafeBytes {
            send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else { return false }
        sent += count
    }
    return true
}

/// Whether nobody listens on a port of 127.0.0.1.
func isFree(_ port: UInt16) -> Bool {
    let descriptor = socket(
        AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    var address = loopback(port: port)
    return withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
    }
}

/// 127.0.0.1 and a port.
func loopback(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
}

/// A connection to a port of 127.0.0.1; nil: nobody accepts it.
func connectToLoopback(port: UInt16) -> Int32? {
    let descriptor = socket(
        AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    var address = loopback(port: port)
    let code = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    guard code == 0 else {
        close(descriptor)
        return nil
    }
    return descriptor
}

/// A socket that listens on a port of 127.0.0.1 that was free.
func listenOnLoopback() throws -> (descriptor: Int32, port: UInt16) {
    let descriptor = socket(
        AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw TestFailure("socket", errno) }
    var address = loopback(port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            bind(descriptor, address, length) == 0 && listen(descriptor, 128) == 0
                ? getsockname(descriptor, address, &length) : -1
        }
    }
    guard code == 0 else { throw TestFailure("bind", errno) }
    return (descriptor, UInt16(bigEndian: address.sin_port))
}

/// Runs `body` on a thread of its own, which nobody waits for.
public func startThread(_ body: @escaping @Sendable () -> Void) {
    final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
    let context = Unmanaged.passRetained(Body(body))
    var handle = pthread_t()
    let code = pthread_create(
        &handle, nil,
        { context in
            if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
            return nil
        }, context.toOpaque())
    precondition(code == 0, "no thread")
    pthread_detach(handle)
}
