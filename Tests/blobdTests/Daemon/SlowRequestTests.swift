import BlobStore
import Logging
import Synchronization
import Testing

@testable import BlobServer

/// Which requests are noted and logged as slow.
@Suite struct SlowRequestTests {
    /// Keeps what is logged.
    private final class Lines: Sendable {
        let texts = Mutex<[String]>([])
        var all: [String] { texts.withLock { $0 } }
    }

    private struct Handler: LogHandler {
        let lines: Lines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            lines.texts.withLock { $0.append("\(event.metadata?["target"] ?? "")") }
        }
    }

    private let lines = Lines()
    private let counters = WorkerCounters()

    private func observer(slowMilliseconds: Int) -> RequestObserver {
        RequestObserver(
            counters, accessLog: nil, slowMilliseconds: slowMilliseconds,
            log: Logger(label: "test") { [lines] _ in Handler(lines: lines) })
    }

    /// Has as many requests noted as there may be, of a second each.
    private func fillSlowest() {
        for _ in 0..<SlowestRequests.countMax {
            counters.slowest.note(
                AnsweredRequest(
                    operation: .list, status: 200, nanoseconds: 1_000_000_000,
                    request: LoggedRequest(method: "GET", target: "/all", version: "HTTP/1.1")))
        }
    }

    private static func ago(milliseconds: Int64) -> Instant {
        Instant(nanoseconds: Instant.now.nanoseconds - milliseconds * 1_000_000)
    }

    // What was faster than the slowest of the last minute was not logged, whatever --slow-ms said.
    @Test("A slow request is logged also where others were slower", arguments: [true, false])
    func logged(isSlow: Bool) {
        fillSlowest()
        let observer = observer(slowMilliseconds: isSlow ? 10 : 100_000)
        let request = LoggedRequest(
            method: "GET", target: "/v1/notifications/7", version: "HTTP/1.1")
        let entry = RequestEntry(
            operation: .record, startedAt: Self.ago(milliseconds: 20), request: request)
        observer.note(entry, status: 200, nil, AnswerBatch(linkedByteCountMin: 0))

        var batch = AnswerBatch(linkedByteCountMin: 0)
        let digest = "sha256:" + String(repeating: "a", count: 64)
        batch.heads += Array("HTTP/1.1 200 OK\r\nETag: \"\(digest)\"\r\n\r\n".utf8)
        batch.endAnswer(fetchStatus: 200)
        counters.requests.countFetch(status: 200)
        observer.beginIteration(asOf: Self.ago(milliseconds: 20))
        _ = observer.noteFetches(batch)
        #expect(lines.all == (isSlow ? ["GET /v1/notifications/7", "blob \(digest)"] : []))
        #expect(counters.slowest.latest(asOf: .now).allSatisfy { $0.target == "GET /all" })
    }

    // A slow minute kept faster requests out of the list until it was asked for, however long ago it was.
    @Test("Requests that are too old are forgotten before a new one is compared with them")
    func forgotten() {
        let now = Timestamp.now.milliseconds
        for index in 0..<SlowestRequests.countMax {
            let age: Int64 = index == 0 ? 59_000 : 61_000
            counters.slowest.note(
                AnsweredRequest(
                    operation: .list, status: 200, nanoseconds: 1_000_000_000,
                    request: LoggedRequest(method: "GET", target: "/old", version: "HTTP/1.1"),
                    at: Timestamp(milliseconds: now - age)))
        }
        let observer = observer(slowMilliseconds: 0)
        observer.note(
            RequestEntry(operation: .record, startedAt: Self.ago(milliseconds: 20)), status: 200,
            nil, AnswerBatch(linkedByteCountMin: 0))
        // While the list is full of young ones, faster requests do not count.
        #expect(counters.slowest.takes(2_000_000))
        #expect(counters.slowest.latest(asOf: .now).map(\.operation) == [.list, .record])
        for _ in 0..<SlowestRequests.countMax { fillSlowest() }
        #expect(!counters.slowest.takes(2_000_000) && counters.slowest.takes(1_000_000_000))
    }

    // A record's tag was taken for a payload's.
    @Test("An answer with an ETag that is no fetch is not noted as one")
    func tags() {
        let observer = observer(slowMilliseconds: 10)
        var batch = AnswerBatch(linkedByteCountMin: 0)
        let digest = "sha256:" + String(repeating: "b", count: 64)
        batch.heads += Array("HTTP/1.1 200 OK\r\nETag: \"12\"\r\n\r\n{}".utf8)
        batch.endAnswer()
        batch.heads += Array("HTTP/1.1 304 Not Modified\r\nETag: \"\(digest)\"\r\n\r\n".utf8)
        batch.endAnswer(fetchStatus: 304)
        counters.requests.countFetch(status: 304)
        observer.beginIteration(asOf: Self.ago(milliseconds: 20))
        _ = observer.noteFetches(batch)
        #expect(lines.all == ["blob \(digest)"])
        #expect(counters.slowest.latest(asOf: .now).map(\.target) == ["blob \(digest)"])
    }
}
