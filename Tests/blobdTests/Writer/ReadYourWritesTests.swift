import BlobProtocol
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

/// A change is acknowledged before it is committed. A later request on any connection
/// never gets an older state.
@Suite(.waiting) struct ReadYourWritesTests {
    /// Bytes that no two numbers share, of many lengths.
    private static func body(_ number: Int) -> [UInt8] {
        Array("number \(number) ".utf8) + [UInt8](repeating: 120, count: number * 7 % 2_000)
    }

    /// How daemons are started: with one worker and with two.
    private static let workers = ["1", "2"]

    @Test(
        "Every question about what was just published, replaced or deleted has the new answer",
        arguments: zip(workers, [false, true]))
    func questions(workers: String, isBinary: Bool) throws {
        let daemon = try DaemonProcess(["--workers", workers])
        let seed = testSeed(9)
        var random = SeededGenerator(seed: seed)
        let speakers = try (0..<4).map { _ in try Speaker(daemon, isBinary: isBinary) }
        let calls = try (0..<2).map { _ in
            try TestConnection(isBinary ? .call : .http, daemon)
        }
        var model: [String: Int] = [:]
        var owners: [String: String] = [:]
        var place = "0"
        for step in 0..<300 {
            let name: Comment = "seed \(seed), step \(step)"
            let id = "id-\(Int.random(in: 0..<9, using: &random))"
            let before = model[id]
            let wasAnnas = owners[id] == "anna"
            let publisher = speakers[Int.random(in: 0..<4, using: &random)]
            if Int.random(in: 0..<5, using: &random) == 0 {
                let status = try publisher.delete(id)
                #expect((status < 300) == (before != nil), name)
                model[id] = nil
            } else {
                let owner = ["anna", "anna", "ben"][Int.random(in: 0..<3, using: &random)]
                let status = try publisher.put(id, Self.body(step), owner: owner)
                owners[id] = owner
                #expect(status == (before == nil ? 201 : 200), name)
                model[id] = step
            }
            let expected = model[id].map { Self.body($0) }
            let digest = expected.map { PayloadDigestText.of($0) }
            let isSame = Bool.random(using: &random)
            let asker = isSame ? publisher : speakers[Int.random(in: 0..<4, using: &random)]
            switch Int.random(in: 0..<9, using: &random) {
            case 0, 1:
                #expect(try asker.get(id) == expected, name)
            case 2:
                #expect(try asker.size(id) == expected?.count, name)
            case 3:
                let found = try asker.record(id)
                #expect((found != nil) == (digest != nil), name)
                if let digest { #expect(found?.contains(digest) == true, name) }
            case 4:
                let found = try asker.list()
                #expect(found.contains("\"id\":\"\(id)\"") == (digest != nil), name)
                if let digest { #expect(found.contains(digest), name) }
            case 5:
                let found = try asker.statistics()
                #expect(jsonMember(found, "notifications") == "\(model.count)", name)
            case 6:
                if let digest {
                    #expect(try asker.blob(digest) == expected, name)
                }
                if let before {
                    #expect(try asker.blob(PayloadDigestText.of(Self.body(before))) == nil, name)
                }
            case 7:
                let call = calls[step % 2]
                // It may have come from one owner to the other.
                for owner in ["anna", "ben"] {
                    let answer = try call.perform(
                        TestRequest("GET", "/v1/users/\(owner)/notifications?limit=100"))
                    #expect(answer.status == 200, name)
                    let isThere = digest != nil && owners[id] == owner
                    #expect(answer.text.contains("\"id\":\"\(id)\"") == isThere, name)
                    if isThere, let digest { #expect(answer.text.contains(digest), name) }
                }
            default:
                let call = calls[step % 2]
                let answer = try call.perform(
                    TestRequest("GET", "/v1/users/anna/changes?since=\(place)&limit=1000"))
                let page = try SeenPage(answer.body)
                if let digest, owners[id] == "anna" {
                    // The last change of all is this one.
                    #expect(page.changes.last?.id == id, name)
                    #expect(
                        String(decoding: answer.body, as: UTF8.self).contains(digest), name)
                } else if before != nil, wasAnnas, place != "0" {
                    // Who begins from nothing is not told of what has gone.
                    #expect(page.changes.last?.words == "deleted \(id)", name)
                }
                place = page.next
            }
        }
        #expect(daemon.stop() == 0)
    }

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
            #expect(try publisher.put("x", Array("\(version)".utf8)) == 200)
            latest.store(version, ordering: .releasing)
            let asker = version % 5 == 0 ? publisher : others[version % 4]
            try asker.sendGet("x")
            #expect(Self.number(try asker.answer()) == version)
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

    fileprivate func get(_ id: String) throws -> [UInt8]? {
        try sendGet(id)
        let answer = try answer()
        return answer.status == 200 ? answer.body : nil
    }

    fileprivate func delete(_ id: String) throws -> Int {
        try sendDelete(id)
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

    /// The record as JSON; nil when there is none.
    fileprivate func record(_ id: String) throws -> String? {
        client.send(try request(.get, "/v1/notifications/\(id)"))
        let answer = try answer()
        return answer.status == 200 ? String(decoding: answer.body, as: UTF8.self) : nil
    }

    fileprivate func list() throws -> String {
        if isBinary {
            return try client.exchange(
                TestRequest("GET", "/v1/notifications").bytes(in: .call)
            ).text
        }
        // There is no list over HTTP; what owners have is the same.
        return try ["anna", "ben"].map {
            try client.request("GET", "/v1/users/\($0)/notifications?limit=100").text
        }.joined()
    }

    fileprivate func statistics() throws -> String {
        client.send(try request(.get, "/v1/stats"))
        return String(decoding: try answer().body, as: UTF8.self)
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
