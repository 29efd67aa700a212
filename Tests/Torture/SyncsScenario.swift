import ArgumentParser
import BlobClient
import TestSupport

/// Watches the daemon's system calls: the sync comes before the answer, and one sync serves many.
struct SyncsScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "syncs",
        abstract: "strace: the sync before the answer, and one sync for many publishers.",
        discussion: """
            Needs strace, which lets every fdatasync begin 10 ms late: an answer that does not wait \
            for it comes first, and all who publish meanwhile can share the next one. First one \
            publish: between its arrival and the answer its record in the log must be synced \
            (fdatasync), or without a log the data (fdatasync, then LMDB's meta page through a \
            descriptor opened with O_DSYNC). Then many publishers: publishes per sync are counted.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "How many publish at the same time in the second part.")
    var publishers = 64

    @Option(help: "How many times each publishes. With --short: 20.")
    var publishes: Int?

    @Option(help: "The fewest publishes per sync that pass.")
    var perSyncMin = 8

    var secondsMax: UInt32 { 180 }

    func torture(_ bench: inout Workbench) throws -> [String] {
        let logged = try traceOne(bench, isLogging: true)
        let single = try traceOne(bench, isLogging: false)
        let each = publishes ?? (options.short ? 20 : 50)
        let (syncs, published) = try traceMany(bench, each)
        let perSync = published / max(1, syncs)
        try require(
            perSync >= perSyncMin,
            "\(syncs) syncs for \(published) publishes of \(publishers) publishers")
        return [
            "one publish: \(logged)",
            "one without a log: \(single)",
            "\(published) publishes of \(publishers) publishers took \(syncs) syncs, \(perSync) each",
        ]
    }

    /// Publishes once under strace and finds the order of the system calls.
    private func traceOne(_ bench: borrowing Workbench, isLogging: Bool) throws -> String {
        let trace = bench.folder + "/one.strace"
        var daemon = try tracedDaemon(bench, trace, isLogging ? [] : ["--no-write-ahead-log"])
        var connection = try daemon.connect()
        let payload = Payload(seed: bench.seed, byteCount: 1_000, kind: .noise).bytes()
        try connection.put(PutRequest(id: "single"), payload.span.bytes)
        try daemon.stop()
        let calls = try readTrace(trace)
        // The answer to a put begins with the magic and the opcode.
        guard let answer = calls.firstIndex(where: { $0.isSend && $0.text.contains(#""\262\3"#) })
        else { throw TestFailure("no answer to a put is in the trace") }
        // What the publish caused lies behind the answer to the hello before it.
        guard let hello = calls.firstIndex(where: { $0.isSend && $0.text.contains(#""\262\1"#) }),
            hello < answer
        else { throw TestFailure("no answer to hello is in the trace") }
        let between = calls[hello..<answer]
        if isLogging { return try findLogged(calls, between, calls[answer]) }
        let meta = Set(calls.filter(\.opensSynced).compactMap(\.result))
        let synced = between.last {
            $0.name == "fdatasync" || $0.name == "fsync" || $0.name == "msync"
        }
        guard let synced else {
            throw TestFailure("no sync between the put's arrival and its answer")
        }
        let metaWrite = between.last { call in
            call.name.hasPrefix("pwrite") && meta.contains { call.text.hasPrefix("\($0),") }
        }
        guard let metaWrite, synced.precedes(metaWrite) else {
            throw TestFailure("the meta page was not written through O_DSYNC after the sync")
        }
        try require(
            metaWrite.precedes(calls[answer]),
            "the answer left before the meta page was written: \(trace)")
        let ahead = microseconds(from: metaWrite, to: calls[answer])
        return
            "\(synced.name), then the meta page through O_DSYNC, then the answer \(ahead) µs later"
    }

    /// The record is written to the log, and synced, before the answer; after it, and before the
    /// daemon has ended, it is committed.
    private func findLogged(
        _ calls: [SystemCall], _ between: ArraySlice<SystemCall>, _ answer: SystemCall
    ) throws -> String {
        // It is written to through another descriptor than it is synced through.
        let logs = Set(
            calls.filter { $0.name == "openat" && $0.text.contains("/changes.log\"") }
                .compactMap(\.result))
        let written = between.last { call in
            call.name == "pwrite64"
                && logs.contains { call.text.hasPrefix("\($0), \"blobdlog") }
        }
        guard let written else {
            throw TestFailure("nothing is written to the log before the answer")
        }
        let synced = between.last { call in
            call.name == "fdatasync" && logs.contains { call.text.hasPrefix("\($0))") }
        }
        guard let synced, written.precedes(synced), synced.precedes(answer) else {
            throw TestFailure("the log is not synced between its record and the answer")
        }
        let meta = Set(calls.filter(\.opensSynced).compactMap(\.result))
        let committed = calls.last { call in
            call.name.hasPrefix("pwrite") && meta.contains { call.text.hasPrefix("\($0),") }
        }
        guard let committed, answer.precedes(committed) else {
            throw TestFailure("the publish is not committed after its answer")
        }
        return "fdatasync of the log, then the answer \(microseconds(from: synced, to: answer)) µs "
            + "later, the commit after it"
    }

    private func microseconds(from earlier: SystemCall, to later: SystemCall) -> Int {
        Int((later.seconds.lowerBound - earlier.seconds.upperBound) * 1_000_000)
    }

    private func readTrace(_ path: String) throws -> [SystemCall] {
        let calls = SystemCall.read(Files.text(path))
        try require(!calls.isEmpty, "there is no trace; is strace installed and allowed?")
        return calls
    }

    /// Publishes from many connections under strace and counts syncs.
    private func traceMany(
        _ bench: borrowing Workbench, _ each: Int
    ) throws -> (syncs: Int, published: Int) {
        let trace = bench.folder + "/many.strace"
        var daemon = try tracedDaemon(bench, trace)
        let (path, seed) = (daemon.socket, bench.seed)
        try Threads.run(publishers) { index in
            var connection = try BlobConnection.connect(to: path)
            for step in 0..<each {
                let payload = Payload(
                    seed: seed &+ UInt64(index * 1_000 + step), byteCount: 1_000, kind: .noise)
                let bytes = payload.bytes()
                try connection.put(PutRequest(id: "many-\(index)-\(step)"), bytes.span.bytes)
            }
        }
        try daemon.stop()
        let syncs = try readTrace(trace).count {
            $0.name == "fdatasync" || $0.name == "fsync"
        }
        return (syncs, publishers * each)
    }

    private func tracedDaemon(
        _ bench: borrowing Workbench, _ trace: String, _ arguments: [String] = []
    ) throws -> DaemonUnderTest {
        // -D: strace is the child, so that the process started here is the daemon itself.
        let calls = "openat,fdatasync,fsync,msync,pwrite64,pwritev,sendmsg,sendto,write,writev"
        return try DaemonUnderTest.serving(
            bench,
            prefix: [
                "strace", "-D", "-f", "-ttt", "-T", "-s", "16", "-e", "trace=\(calls)",
                "-e", "inject=fdatasync:delay_enter=\(Self.syncDelayMicroseconds)", "-o", trace,
            ], arguments: arguments)
    }

    private static let syncDelayMicroseconds = 10_000
}

extension SystemCall {
    fileprivate var isSend: Bool { ["sendmsg", "sendto", "write", "writev"].contains(name) }
    fileprivate var opensSynced: Bool { name == "openat" && text.contains("O_DSYNC") }
}
