import Synchronization
import TestSupport
import Testing

@testable import ObjectStore

/// When credentials are read again, by whom, and what the others do meanwhile.
@Suite struct RenewalTests {
    private static let served: [StandIn] = [.webIdentity, .container, .instance]
    private let stop = StopSignal()

    @Test("They are read again five minutes before their end", arguments: StandIn.allCases)
    func early(source: StandIn) throws {
        let issuer = try KeyIssuer(source)
        let provider = try provider(issuer.variables, clock: issuer.clock.clock)
        #expect(
            provider.description == "credentials of \(CredentialSources.table[source.row].title)")
        #expect(issuer.requestCount == 0, "read before anyone needed them")
        #expect(try provider.get(stop: stop).accessKeyID == "K3600")
        try issuer.advance(3_299)
        #expect(try provider.get(stop: stop).accessKeyID == "K3600")
        try issuer.advance(1)
        #expect(try provider.get(stop: stop).accessKeyID == "K6900")
        #expect(source == .process || issuer.readCount == 2)
        #expect(provider.description.hasPrefix("access key K6900 of "))
    }

    @Test(
        "Short ones are read again after half of their time; those that ended already are tried for a minute"
    )
    func short() throws {
        let issuer = try KeyIssuer(.container)
        issuer.set(lifetime: 100)
        let provider = try provider(issuer.variables, clock: issuer.clock.clock)
        #expect(try provider.get(stop: stop).accessKeyID == "K100")
        try issuer.advance(49)
        #expect(try provider.get(stop: stop).accessKeyID == "K100")
        issuer.set(lifetime: -40)
        try issuer.advance(1)
        #expect(try provider.get(stop: stop).accessKeyID == "K10")
        try issuer.advance(29)
        #expect(try provider.get(stop: stop).accessKeyID == "K10")
        #expect(issuer.readCount == 2)
        try issuer.advance(1)
        #expect(try provider.get(stop: stop).accessKeyID == "K40")
    }

    @Test(
        "A source that fails leaves those that are valid, is asked again after a pause, and comes back",
        arguments: served, [KeyIssuer.Mode.isAway, .garbles])
    func away(source: StandIn, mode: KeyIssuer.Mode) throws {
        let issuer = try KeyIssuer(source)
        let news = News()
        let provider = try provider(
            issuer.variables, clock: issuer.clock.clock, onRenewalFailure: { news.add($0) })
        #expect(try provider.get(stop: stop).accessKeyID == "K3600")
        issuer.set(mode)
        try issuer.advance(3_300)
        let before = issuer.requestCount
        for _ in 0..<10 { #expect(try provider.get(stop: stop).accessKeyID == "K3600") }
        let each = issuer.requestCount - before
        #expect((1...3).contains(each), "each use asked the source")
        try issuer.advance(15)
        for _ in 0..<10 { #expect(try provider.get(stop: stop).accessKeyID == "K3600") }
        #expect(issuer.requestCount == before + 2 * each)
        #expect(
            news.all.count == 1 && news.all[0].contains("credentials, which expire in 300 s: no"))
        // Their end: the error is the source's, and may pass.
        try issuer.advance(285)
        for _ in 0..<10 {
            let error = try #require(throws: ObjectStoreError.self) { try provider.get(stop: stop) }
            #expect(error.kind == .unavailable && error.isTransient)
            #expect(
                "\(error)".contains("\(CredentialSources.table[source.row].title): http://127."))
        }
        #expect(issuer.requestCount == before + 3 * each)
        issuer.set(.issues)
        try issuer.advance(15)
        #expect(try provider.get(stop: stop).accessKeyID == "K7215")
        #expect(news.all.count == 1)
    }

    @Test(
        "While one asks a source that hangs, the others go on; past the limit so does it",
        arguments: served)
    func hanging(source: StandIn) throws {
        let issuer = try KeyIssuer(source)
        var limits = patientLimits
        let slow = try provider(issuer.variables, clock: issuer.clock.clock)
        _ = try slow.get(stop: stop)
        let before = issuer.requestCount
        issuer.set(.hangs)
        try issuer.advance(3_400)
        let reader = StopSignal()
        let outcome = News()
        let read: @Sendable () -> Void = {
            do throws(ObjectStoreError) {
                outcome.add(try slow.get(stop: reader).accessKeyID)
            } catch { outcome.add("\(error.kind)") }
        }
        try withThread(read) {
            try issuer.waitForRequests(before + 1)
            for _ in 0..<10 { #expect(try slow.get(stop: stop).accessKeyID == "K3600") }
            #expect(issuer.requestCount == before + 1)
            reader.stop()
        }
        #expect(outcome.all == ["stopped"])
        // The limit, with keys that are valid and without any.
        issuer.set(.issues)
        limits.credentialsMilliseconds = 500
        let quick = try provider(issuer.variables, limits: limits, clock: issuer.clock.clock)
        var held = try? quick.get(stop: stop)
        while held == nil {
            try issuer.advance(15)
            held = try? quick.get(stop: stop)
        }
        issuer.set(.hangs)
        try issuer.advance(3_400)
        #expect(try quick.get(stop: stop) == held)
        try issuer.advance(200)
        #expect(kind(try quick.get(stop: stop)) == .unavailable)
    }

    @Test("Who has none waits for the one that reads, and has its result")
    func together() throws {
        let issuer = try KeyIssuer(.container)
        issuer.set(.isAway)
        let provider = try provider(issuer.variables, clock: issuer.clock.clock)
        func all() -> [String] {
            let results = News()
            let threads = (0..<8).compactMap { _ in
                ClientThread {
                    do throws(ObjectStoreError) {
                        results.add(try provider.get(stop: StopSignal()).accessKeyID)
                    } catch { results.add("\(error.kind)") }
                }
            }
            for thread in threads { thread.join() }
            return results.all
        }
        // One that came after the failure has it, too, until the pause is over.
        #expect(all() == Array(repeating: "unavailable", count: 8))
        #expect(issuer.requestCount == 1)
        issuer.set(.issues)
        try issuer.advance(15)
        #expect(all() == Array(repeating: "K3615", count: 8))
        #expect(issuer.readCount == 1)
    }
}

/// What was to be logged.
final class News: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) { lines.withLock { $0.append(line) } }
}

extension StandIn {
    /// Its place in the table.
    var row: Int {
        switch self {
        case .webIdentity: 1
        case .process: 3
        case .container: 4
        case .instance: 5
        }
    }
}

/// Runs `other` on a thread of its own while `body` runs.
func withThread(_ other: @escaping @Sendable () -> Void, _ body: () throws -> Void) throws {
    let thread = try #require(ClientThread(other))
    defer { thread.join() }
    try body()
}
