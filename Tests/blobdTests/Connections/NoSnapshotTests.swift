import BlobProtocol
import BlobStore
import Logging
import TestSupport
import Testing

@testable import BlobServer
@testable import blobd

/// A worker of this process, whose store has one reader slot.
@Suite(.waiting) struct NoSnapshotTests {
    private final class Site {
        private let folder = TemporaryFolder()
        let store: BlobStore
        private let context: DaemonContext
        private let inbox: WorkerInbox
        private let thread: ServiceThread

        init() throws {
            var options = DaemonOptions(dataPath: folder.path, socketPath: "")
            options.store.readerCountMax = 1
            store = try BlobStore.open(at: folder.path, options: options.storeOptions)
            context = DaemonContext(
                store: store, limits: LiveLimits(options.limits),
                counters: DaemonCounters(workerCount: 1),
                bodyMemory: BodyMemory(BodyMemory.Limits(byteCountMax: 1 << 20, spoolCountMax: 1)),
                oldestSnapshot: OldestSnapshot(), scrub: try ScrubState(),
                replica: try ReplicaStatus(
                    options.replica, role: .alone, counters: nil, fetchThreadCount: 0),
                log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let environment = try RunningDaemon.environment(
                context, try WriterThread(context, onOutcomeUnknown: {}), options,
                DescriptorBudget(descriptorMax: 1_000, connectionCountMax: 10, workerCount: 1),
                LinkKeys(nil), nil)
            inbox = try WorkerInbox()
            thread = try ServiceThread()
            let inbox = inbox
            try thread.start("worker") {
                #expect(throws: Never.self) {
                    try Worker(index: 0, inbox: inbox, environment: environment).run()
                }
            }
        }

        deinit {
            inbox.post(WorkerMessage(token: .worker, content: .stopAtOnce))
            thread.join()
        }

        func connect() throws -> RawClient {
            let (own, daemons) = try makeSocketPair()
            context.counters.workers[0].countConnection(isDevice: false, by: 1)
            inbox.post(
                WorkerMessage(
                    token: .worker,
                    content: .accepted(daemons, Peer(userID: 0), isDevice: false)))
            return RawClient(taking: own)
        }
    }

    /// Holds the only slot meanwhile.
    private func withoutSlot(_ site: Site, _ body: () throws -> Void) throws {
        // The worker may have it a little longer than its client waits.
        let patience = Patience()
        while true {
            guard let snapshot = try? site.store.makeSnapshot() else {
                try patience.wait(orThrow: "the worker keeps its slot")
                continue
            }
            try body()
            return _ = snapshot.isCurrent
        }
    }

    // The connection was closed.
    @Test("A request for which there is no snapshot gets a 503, and the next one is answered")
    func refused() throws {
        let site = try Site()
        let (http, binary) = (try site.connect(), try site.connect())
        #expect(try binary.exchange(helloFrame).status == 200)
        try withoutSlot(site) {
            let get = try http.request("GET", "/v1/notifications/1/payload")
            #expect(get.status == 503 && get.code == "unavailable" && get["Retry-After"] == "1")
            #expect(get["Connection"] == nil)
            #expect(try http.request("HEAD", "/v1/notifications/1").status == 503)
            // Its body is discarded, and a request that is not whole is waited for.
            let put = try http.request("PUT", "/v1/notifications/1/payload", body: [1, 2, 3])
            #expect(put.status == 503)
            http.send("\r\nGET /v1/notifications/1/pay")
            http.send("load HTTP/1.1\r\nHost: b\r\n\r\nnonsense")
            #expect(try http.answer().status == 503)
            let frame = try binary.exchange(try getFrame("1", requestID: 7))
            #expect(
                frame.status == 503 && frame.code == "unavailable" && frame.frame.requestID == 7)
        }
        #expect(try binary.exchange(try getFrame("1", requestID: 8)).status == 404)
        http.send("\r\n\r\n")
        #expect(try http.answer().status == 400)
        #expect(try http.isClosed())
        let other = try site.connect()
        #expect(try other.request("GET", "/v1/notifications/1/payload").status == 404)
    }
}
