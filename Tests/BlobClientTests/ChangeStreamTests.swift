import BlobProtocol
import Bytes
import Dispatch
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BlobClient

/// The feed as a sequence: it goes on over the ends of connections, and ends with its task.
@Suite struct ChangeStreamTests {
    @Test func itGoesOnWhereItWasWhenTheDaemonComesBack() async throws {
        let daemons = try Daemons([
            { peer in
                let call = try peer.readRequest()
                try Self.expect(call, owner: "ann", cursor: "0")
                try peer.answer(call.frame, ["1", "2"], next: "b")
                try peer.answer(call.frame, [], next: "c")
            },
            { peer in
                let call = try peer.readRequest()
                // The empty page moved the place on, though nobody was told.
                try Self.expect(call, owner: "ann", cursor: Self.cursor("c"))
                try peer.answer(call.frame, ["3"], next: "d")
                try peer.answer(
                    call.frame, 503, body: Array(Self.problem(.stopping).utf8))
            },
            { peer in
                let call = try peer.readRequest()
                try Self.expect(call, owner: "ann", cursor: Self.cursor("d"))
                try peer.answer(
                    call.frame, 410, body: Array(Self.problem(.resync).utf8))
            },
        ])
        var ids: [String] = []
        var end: ClientError?
        do throws(ClientError) {
            for try await change in daemons.feed(of: "ann") { ids.append(change.id) }
        } catch {
            end = error
        }
        #expect(ids == ["1", "2", "3"])
        #expect(end?.isResync == true)
        #expect(daemons.wait() == [])
    }

    @Test func aDaemonThatWasNeverThereIsAnError() async {
        let client = BlobdClient(socketPath: "/nonexistent/blobd.sock")
        await #expect(
            throws: ClientError.noDaemon(path: "/nonexistent/blobd.sock", errno: ENOENT)
        ) {
            for try await _ in client.changes(of: "ann") {}
        }
    }

    @Test func cancellingClosesTheConnection() async throws {
        let isWatched = DispatchSemaphore(value: 0)
        let daemons = try Daemons([
            { peer in
                let call = try peer.readRequest()
                try peer.answer(call.frame, ["1"], next: "b")
                isWatched.signal()
                // Ends when the client has gone, and not before.
                guard (try? peer.read(1)) == nil else { throw TestFailure("it said more") }
            }
        ])
        let feed = daemons.feed(of: "ann")
        let reading = Task {
            var ids: [String] = []
            for try await change in feed { ids.append(change.id) }
            return ids
        }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                isWatched.wait()
                continuation.resume()
            }
        }
        reading.cancel()
        #expect(try await reading.value == ["1"])
        #expect(daemons.wait() == [])
    }

    @Test func whatIsNoPageEndsIt() async throws {
        let daemons = try Daemons([
            { peer in
                let call = try peer.readRequest()
                try peer.answer(
                    call.frame, 200, head: Self.head, body: Array("{}".utf8), continues: true)
            }
        ])
        var end: ClientError?
        do throws(ClientError) {
            for try await _ in daemons.feed(of: "ann") {}
        } catch {
            end = error
        }
        #expect(end?.isProtocolViolation == true)
        #expect(daemons.wait() == [])
    }

    /// The same place for the same letter, as long as a cursor.
    fileprivate static func cursor(_ letter: Character) -> String {
        String(repeating: letter, count: 32)
    }

    fileprivate static var head: [UInt8] {
        var head: [UInt8] = []
        Call.Response.compose(
            revision: 0, mediaType: Array("application/json".utf8).span.bytes, location: RawSpan(),
            into: &head)
        return head
    }

    private static func problem(_ code: ErrorCode) -> String {
        "{\"title\":\"t\",\"status\":\(code.status),\"code\":\"\(code.rawValue)\"}"
    }

    private static func expect(
        _ request: ScriptedPeer.Request, owner: String, cursor: String
    ) throws {
        let head = request.head
        let call = try Call.Request.parse(head.span.bytes, flags: request.frame.flags)
        let target = call.target.of(head.span.bytes).text()
        guard call.isWatch, target == "/v1/users/\(owner)/changes?since=\(cursor)&limit=100"
        else { throw TestFailure("\(target) is called, not \(owner)'s changes since \(cursor)") }
    }
}

extension ScriptedPeer {
    /// Answers a watch with changes of notifications with these ids.
    fileprivate borrowing func answer(
        _ request: RequestFrame, _ ids: [String], next: Character
    ) throws {
        let changes = ids.map {
            """
            {"cursor":"x","kind":"deleted","id":"\($0)","revision":1}
            """
        }
        let page = """
            {"changes":[\(changes.joined(separator: ","))],"next":"\(ChangeStreamTests.cursor(next))",\
            "more":false}
            """
        try answer(
            request, 200, head: ChangeStreamTests.head, body: Array(page.utf8), continues: true)
    }
}

/// Daemons that come one after the other, one for each connection.
private final class Daemons: Sendable {
    private let waiting: Mutex<[ScriptedDaemon]>
    private let all: [ScriptedDaemon]

    init(_ scripts: [@Sendable (borrowing ScriptedPeer) throws -> Void]) throws {
        all = try scripts.map { try ScriptedDaemon.greeting($0) }
        waiting = Mutex(all)
    }

    func feed(of owner: String) -> ChangeStream {
        ChangeStream { stop in
            FeedSubscription(owner: owner, since: "0", limit: 100, stop: stop) {
                () throws(ClientError) in
                let next = self.waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
                guard let next else { throw .protocolViolation("no daemon is left") }
                return try BlobConnection.adopt(next.clientDescriptor, stop: stop)
            }
        }
    }

    /// What went wrong in the scripts.
    func wait() -> [String] { all.compactMap { $0.wait() } }
}
