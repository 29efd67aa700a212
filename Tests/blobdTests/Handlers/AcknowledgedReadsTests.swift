import BlobProtocol
import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import BlobServer

/// A device that fetched with its token missed changes that were acknowledged and not committed: only readers that
/// asked for it were given those, and its rows of the table of calls did not. No reader asks any more.
///
/// Every row of the table has a case: a change, and at once the call, or a look at what the call did, on both sockets and
/// in frames. Meanwhile others publish, so that the writer never pauses, and commits late.
@Suite(.waiting) struct AcknowledgedReadsTests {
    /// A lucky commit between a change and the call hides a mistake once.
    private static let repetitions = 5

    @Test(
        "What was acknowledged is in the next answer, of every call", arguments: ["http", "call"])
    func acknowledged(name: String) throws {
        let dialect = try #require(TestDialect(rawValue: name))
        let folder = TemporaryFolder()
        let daemon = try DaemonProcess(try DeviceKeys.flags(in: folder), in: folder)
        let noise = Noise(daemon)
        var faults: [String] = []
        for (row, lines) in Self.cases {
            for number in 0..<Self.repetitions {
                let run = try CaseRun(daemon, dialect, number)
                for line in lines {
                    guard let exchange = try Exchange(line, at: row) else { continue }
                    faults += try run.faults(exchange)
                }
            }
        }
        #expect(faults == [])
        noise.end()
        #expect(daemon.stop() == 0)
    }

    @Test("Every row has a case")
    func rows() {
        let rows = Endpoint.all.map { "\($0.name)" }
        #expect(Set(rows).symmetricDifference(Self.cases.map(\.row)) == [])
    }

    /// The backup's answer has no length, so that its case is not a line.
    @Test("A backup has what was acknowledged")
    func backup() throws {
        let daemon = try DaemonProcess()
        let noise = Noise(daemon)
        for number in 0..<Self.repetitions {
            let client = try daemon.connect()
            try client.put("last-\(number)", [1])
            client.send("GET /v1/backup HTTP/1.0\r\n\r\n")
            let bytes = try client.receiveAll()
            #expect(bytes.firstRange(of: Array("last-\(number)".utf8)) != nil)
        }
        noise.end()
    }
}

/// The lines of a case, with connections of its own. Connections of the name `device…` are to the device socket.
private final class CaseRun {
    private let daemon: DaemonProcess
    private let dialect: TestDialect
    private var variables: Exchange.Variables
    private var connections: [String: TestConnection] = [:]

    init(_ daemon: DaemonProcess, _ dialect: TestDialect, _ number: Int) throws {
        self.daemon = daemon
        self.dialect = dialect
        func link(_ path: String) -> String {
            DeviceKeys.link(path, expiresAt: Int64(time(nil)) + 3_600)
        }
        let claims = DeviceKeys.withTimes(
            #"{"sub":"ann","exp":now+3600,"scope":"read write"}"#)
        variables = [
            "#": "\(number)", "token": DeviceKeys.token(claims), "link": link("/d/p"),
            "partlink": link("/d/p/parts/q"), "feedlink": link("/d/users/ann/changes"),
        ]
    }

    func faults(_ exchange: Exchange) throws -> [String] {
        if let only = exchange.dialect, only != dialect { return [] }
        let name = Exchange.text(exchange.connection, variables)
        let connection =
            try connections[name]
            ?? (name.hasPrefix("device")
                ? TestConnection(device: daemon) : TestConnection(dialect, daemon))
        connections[name] = connection
        let answer = try connection.perform(try exchange.call(variables))
        return exchange.faults(answer, &variables).map {
            "\(dialect), \(exchange.place): \($0): \(answer.text.prefix(300))"
        }
    }
}

/// Clients that publish without a pause, several requests ahead.
private final class Noise: Sendable {
    private let isOver: Atomic<Bool> = Atomic(false)
    private let ended = DispatchGroup()

    init(_ daemon: DaemonProcess) {
        for number in 0..<2 {
            let path = daemon.socketPath
            ended.enter()
            Thread.detachNewThread { [self] in
                defer { ended.leave() }
                guard let client = try? RawClient(path) else { return }
                let request = httpRequest(
                    "PUT", "/v1/notifications/noise-\(number)/payload?owner=noise", body: [1])
                for _ in 0..<16 { client.send(request) }
                while !isOver.load(ordering: .acquiring), (try? client.answer()) != nil {
                    client.send(request)
                }
            }
        }
    }

    func end() {
        isOver.store(true, ordering: .releasing)
        ended.wait()
    }
}
