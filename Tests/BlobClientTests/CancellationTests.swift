import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import BlobClient

/// A call of a task that was cancelled waited for its answer all the same, up to the timeout.
@Suite struct CancellationTests {
    /// A client of daemons that come one after the other, one for each connection.
    private static func client(_ daemons: [ScriptedDaemon]) -> BlobdClient {
        let waiting = Mutex(daemons)
        return BlobdClient(socketPath: "scripted") { (stop) throws(ClientError) in
            let next = waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            guard let next else { throw .protocolViolation("no daemon is left") }
            return try BlobConnection.adopt(next.clientDescriptor, stop: stop)
        }
    }

    @Test func cancellingATaskEndsItsCallAndNoOther() async throws {
        let isAsked = DispatchSemaphore(value: 0)
        let daemons = [
            try ScriptedDaemon.greeting { peer in
                let request = try peer.readRequest()
                try peer.write(ScriptedPeer.payloadAnswer(request.frame, [1]))
                _ = try peer.readRequest()
                isAsked.signal()
                // Ends when the client has gone, and not before.
                guard (try? peer.read(1)) == nil else { throw TestFailure("it said more") }
            },
            try ScriptedDaemon.greeting { peer in
                let request = try peer.readRequest()
                try peer.write(ScriptedPeer.payloadAnswer(request.frame, [2]))
            },
        ]
        let client = Self.client(daemons)
        #expect(try await client.get("1")?.bytes == [1])
        let call = Task { try await client.get("42") }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                isAsked.wait()
                continuation.resume()
            }
        }
        // Waits for its turn.
        let other = Task { try await client.get("43") }
        call.cancel()
        await #expect(throws: ClientError.cancelled) { try await call.value }
        #expect(try await other.value?.bytes == [2])
        #expect(daemons.compactMap { $0.wait() } == [])
    }

    @Test func aTaskThatIsCancelledAlreadySendsNothing() async throws {
        let client = Self.client([])
        let call = Task {
            // Not before it is cancelled.
            while !Task.isCancelled { await Task.yield() }
            return try await client.get("42")
        }
        call.cancel()
        await #expect(throws: ClientError.cancelled) { try await call.value }
    }
}
