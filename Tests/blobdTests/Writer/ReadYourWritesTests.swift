import BlobProtocol
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

/// A change is acknowledged before it is committed. A later request on any connection
/// never gets an older state. `AcknowledgedReadsTests` has every call.
@Suite(.waiting) struct ReadYourWritesTests {
    /// Bytes that no two numbers share, of many lengths.
    private static func body(_ number: Int) -> [UInt8] {
        Array("number \(number) ".utf8) + [UInt8](repeating: 120, count: number * 7 % 2_000)
    }

    /// How daemons are started: with one worker and with two.
    private static let workers = ["1", "2"]

    @Test("Connections that close while their questions wait leave nothing behind")
    func closing() throws {
        let daemon = try DaemonProcess(["--workers", "2"])
        let client = try daemon.connect()
        for round in 0..<150 {
            do {
                let speaker = try Speaker(daemon, isBinary: round % 2 == 0)
                for step in 0..<3 {
                    try speaker.sendPut("\(round)", Self.body(round + step))
                    try speaker.sendGet("\(round)")
                }
                // The first has been acknowledged; the others may be anywhere.
                if round % 3 > 0 { _ = try speaker.answer() }
                if round % 3 == 2 { try speaker.sendGet("\(round)") }
            }
            if round % 10 == 9 {
                #expect(try client.request("GET", "/v1/notifications/none").status == 404)
            }
        }
        try daemon.waitUntil("connections") { $0 <= 2 }
        #expect(try daemon.statistic("leases") == 0)
        for round in 0..<150 where round % 3 > 0 {
            let found = try client.request("GET", "/v1/notifications/\(round)/payload")
            #expect(found.status == 200, "\(round)")
        }
        #expect(daemon.stop() == 0)
    }

    /// The number that is published; the status, negative, where there is none.
    private static func number(_ answer: (status: Int, body: [UInt8])) -> Int {
        Int(String(decoding: answer.body, as: UTF8.self)) ?? -answer.status
    }

    /// Many connections whose requests are answered together, in one snapshot, while the same
    /// notification is published again and again: each question was sent after an acknowledgement,
    /// and a snapshot from before that must not answer it.
    @Test(
        "A batch for many connections never answers one with an older state than it asked about",
        arguments: zip(workers, [false, true]))
    func batches(workers: String, isBinary: Bool) throws {
        let daemon = try DaemonProcess(["--workers", workers])
        let latest = Atomic<Int>(0)
        let isOver = Atomic<Bool>(false)
        let errorLog = Mutex<[String]>([])
        _ = try Speaker(daemon, isBinary: isBinary).put("x", Array("0".utf8))
        _ = try Speaker(daemon, isBinary: isBinary).put("y", Array("0".utf8))
        let path = daemon.socketPath
        let ended = DispatchGroup()
        for _ in 0..<3 {
            ended.enter()
            Thread.detachNewThread {
                defer { ended.leave() }
                do {
                    let speakers = try (0..<10).map { _ in
                        try Speaker(path, isBinary: isBinary)
                    }
                    while !isOver.load(ordering: .acquiring) {
                        var floors: [Int] = []
                        for speaker in speakers {
                            floors.append(latest.load(ordering: .acquiring))
                            for id in ["y", "y", "x", "y"] { try speaker.sendGet(id) }
                        }
                        for (speaker, floor) in zip(speakers, floors) {
                            for place in 0..<4 {
                                let found = Self.number(try speaker.answer())
                                if place == 2, found < floor {
                                    errorLog.withLock { $0.append("\(found) after \(floor)") }
                                }
                            }
                        }
                    }
                } catch {
                    errorLog.withLock { $0.append("\(error)") }
                }
            }
        }
        let publisher = try Speaker(daemon, isBinary: isBinary)
        let others = try (0..<4).map { _ in try Speaker(daemon, isBinary: isBinary) }
        for version in 1...100 {
            let body = Array("\(version)".utf8)
            #expect(try publisher.put("x", body) == 200)
            latest.store(version, ordering: .releasing)
            let asker = version % 5 == 0 ? publisher : others[version % 4]
            try asker.sendGet("x")
            #expect(Self.number(try asker.answer()) == version)
            #expect(try asker.size("x") == body.count)
            #expect(try asker.blob(PayloadDigestText.of(body)) == body)
            let before = Array("\(version - 1)".utf8)
            #expect(try version == 1 || asker.blob(PayloadDigestText.of(before)) == nil)
        }
        isOver.store(true, ordering: .releasing)
        ended.wait()
        #expect(errorLog.withLock { $0 } == [])
        #expect(daemon.stop() == 0)
    }
}

extension Speaker {
    fileprivate func put(_ id: String, _ body: [UInt8], owner: String = "anna") throws -> Int {
        try sendPut(id, body, owner: owner)
        return try answer().status
    }

    /// How many bytes are said to be there, without them; nil: there are none.
    fileprivate func size(_ id: String) throws -> Int? {
        if isBinary {
            var head: [UInt8] = []
            try Get.Request.compose(id: id, range: nil, into: &head)
            let answer = try client.exchange(frame(.get, flags: [.headOnly], head: head))
            guard answer.status == 200 else { return nil }
            return Int(try Get.Response.parse(answer.head.span.bytes).byteCount)
        }
        let answer = try client.request("HEAD", "/v1/notifications/\(id)/payload")
        return answer.status == 200 ? answer["Content-Length"].flatMap { Int($0) } : nil
    }

    fileprivate func blob(_ digest: String) throws -> [UInt8]? {
        if isBinary {
            var head: [UInt8] = []
            try Get.Request.compose(digest: hex(digest).span.bytes, into: &head)
            let answer = try client.exchange(frame(.get, flags: .digestGiven, head: head))
            return answer.status == 200 ? answer.body : nil
        }
        let answer = try client.request("GET", "/v1/blobs/sha256:\(digest)")
        return answer.status == 200 ? answer.body : nil
    }
}
