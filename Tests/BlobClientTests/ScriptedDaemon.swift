import BlobProtocol
import Dispatch
import Glibc
import Synchronization
import TestSupport

@testable import BlobClient

/// The other end of a connection, played by a script on a thread of its own.
///
/// The script reads requests and writes whatever bytes it likes; the connection is closed when it
/// returns. `wait` returns what went wrong in it.
final class ScriptedDaemon: Sendable {
    /// The descriptor for the client, which closes it.
    let clientDescriptor: CInt
    private let done = DispatchSemaphore(value: 0)
    private let failure = Mutex<String?>(nil)

    init(_ script: @escaping @Sendable (borrowing ScriptedPeer) throws -> Void) throws {
        let (client, peer) = try makeSocketPair()
        clientDescriptor = client
        DispatchQueue(label: "scripted daemon").async {
            do {
                try script(ScriptedPeer(descriptor: peer))
            } catch {
                self.failure.withLock { $0 = "\(error)" }
            }
            self.done.signal()
        }
    }

    /// A daemon that has answered hello before the rest of the script.
    static func greeting(
        inFlightMax: Int = 64, payloadByteCountMax: UInt64 = 1 << 20,
        _ script: @escaping @Sendable (borrowing ScriptedPeer) throws -> Void
    ) throws -> ScriptedDaemon {
        try ScriptedDaemon { peer in
            let hello = try peer.readRequest()
            guard hello.frame.operation == .hello else { throw TestFailure("no hello") }
            var head: [UInt8] = []
            var response = Hello.Response(
                payloadByteCountMax: payloadByteCountMax, defaultTTLSeconds: 60, ttlSecondsMax: 600)
            response.requestsInFlightMax = UInt32(inFlightMax)
            let storeID = [UInt8](0..<16)
            response.compose(
                storeID: storeID.span.bytes, serverVersion: Array("test".utf8).span.bytes,
                into: &head)
            try peer.answer(hello.frame, 200, head: head)
            try script(peer)
        }
    }

    /// Waits for the end of the script.
    func wait() -> String? {
        // Long enough for any machine, and an end to a test that would hang.
        guard done.wait(timeout: .now() + 300) == .success else { return "the script hangs" }
        return failure.withLock { $0 }
    }
}

/// What a script reads from and writes to.
struct ScriptedPeer: ~Copyable {
    let descriptor: CInt

    struct Request {
        var frame: RequestFrame
        var head: [UInt8]
        var body: [UInt8]
    }

    deinit { close(descriptor) }

    func read(_ count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let got = bytes.withUnsafeMutableBytes { whole in
                recv(descriptor, whole.baseAddress.map { $0 + filled }, count - filled, 0)
            }
            guard got > 0 else { throw TestFailure("the client has gone") }
            filled += got
        }
        return bytes
    }

    /// Reads one request with all that belongs to it.
    func readRequest() throws -> Request {
        let header = try read(Wire.frameHeaderByteCount)
        guard let frame = try RequestFrame.parse(header.span.bytes) else {
            throw TestFailure("no whole header")
        }
        return Request(
            frame: frame, head: try read(Int(frame.headByteCount)),
            body: try read(Int(frame.bodyByteCount)))
    }

    func write(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { whole in
                send(
                    descriptor, whole.baseAddress.map { $0 + sent }, bytes.count - sent,
                    CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw TestFailure("the client takes no more") }
            sent += count
        }
    }

    /// Writes each byte by itself.
    func writeSlowly(_ bytes: [UInt8]) throws {
        for byte in bytes { try write([byte]) }
    }

    func answer(
        _ request: RequestFrame, _ status: UInt16, head: [UInt8] = [], body: [UInt8] = [],
        continues: Bool = false
    ) throws {
        try write(Self.answer(request, status, head: head, body: body, continues: continues))
    }

    /// The bytes of an answer.
    static func answer(
        _ request: RequestFrame, _ status: UInt16, head: [UInt8] = [], body: [UInt8] = [],
        continues: Bool = false
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        ResponseFrame(
            answering: request, status: status, headByteCount: UInt32(head.count),
            bodyByteCount: UInt64(body.count), continues: continues
        ).compose(into: &bytes)
        return bytes + head + body
    }

    /// The head of a get's answer.
    static func payloadHead(
        digest: PayloadDigest, byteCount: Int, first: Int = 0, coding: WireCoding = .identity,
        mediaType: String = "image/png"
    ) -> [UInt8] {
        var head: [UInt8] = []
        Get.Response(
            byteCount: UInt64(byteCount), first: UInt64(first), expiryMilliseconds: 2_000,
            revision: 7, createdMilliseconds: 1_000, coding: coding
        ).compose(
            digest: digest.bytes.span.bytes, mediaType: Array(mediaType.utf8).span.bytes,
            into: &head)
        return head
    }

    /// The bytes of a whole payload's answer.
    static func payloadAnswer(_ request: RequestFrame, _ body: [UInt8]) -> [UInt8] {
        let digest = PayloadDigest(of: body.span.bytes)
        return answer(
            request, 200, head: payloadHead(digest: digest, byteCount: body.count), body: body)
    }
}

/// What a call throws, or nil.
func thrown(_ body: () throws -> Void) -> ClientError? {
    do {
        try body()
        return nil
    } catch {
        return error as? ClientError
    }
}

extension ClientError {
    var refusal: DaemonProblem? { if case .refused(let problem) = self { problem } else { nil } }
    var invalidInput: ProtocolError? { if case .invalid(let error) = self { error } else { nil } }
    var isClosed: Bool { if case .closed = self { true } else { false } }
    var isSource: Bool { if case .source = self { true } else { false } }
    var isResync: Bool { if case .resync = self { true } else { false } }
    var isProtocolViolation: Bool {
        if case .protocolViolation = self { true } else { false }
    }
}

/// What a script leaves for its test.
final class Kept<Value: Sendable>: Sendable {
    private let kept = Mutex<Value?>(nil)

    var value: Value? {
        get { kept.withLock { $0 } }
        set { kept.withLock { $0 = newValue } }
    }
}
