import BlobProtocol
import Glibc
import TestSupport
import Testing

/// Requests of many connections that are found at once: they are answered together.
@Suite struct RequestBatchTests {
    /// What one connection asks for, all of it before the daemon sees any of it.
    private enum Errand: CaseIterable {
        case short, long, several, missing, document, publish, half, broken, leaving, rubbish
    }

    @Test("Each of many connections gets its own answers, whatever its neighbours ask for")
    func mixed() throws {
        let daemon = try DaemonProcess(["--workers", "1"])
        var random = SeededGenerator(seed: 11)
        let short = (0..<40).map { random.bytes(700 + $0) }
        let long = (0..<4).map { random.bytes(150_000 + $0) }
        for (number, body) in short.enumerated() { try daemon.put("s\(number)", body) }
        for (number, body) in long.enumerated() { try daemon.put("l\(number)", body) }
        let errands = (0..<60).map { Errand.allCases[$0 % Errand.allCases.count] }
        for binaries in [true, false] {
            let clients = try errands.map { _ in
                let client = binaries ? try daemon.connectBinary() : try daemon.connect()
                // Its worker knows it by now.
                if !binaries { #expect(try client.request("GET", "/healthz").status == 200) }
                return client
            }
            daemon.signal(SIGSTOP)
            for (number, client) in clients.enumerated() {
                if binaries {
                    client.send(try Self.frames(for: errands[number], number))
                } else {
                    client.send(Self.text(for: errands[number], number))
                }
                if errands[number] == .leaving { client.endSending() }
            }
            daemon.signal(SIGCONT)
            for (number, client) in clients.enumerated() {
                func next() throws -> (status: Int, body: [UInt8]) {
                    if binaries {
                        let answer = try client.frameAnswer()
                        return (Int(answer.status), answer.body)
                    }
                    let answer = try client.answer()
                    return (answer.status, answer.body)
                }
                switch errands[number] {
                case .short:
                    #expect(try next().body == short[number % 40])
                case .long:
                    #expect(try next().body == long[number % 4])
                case .several:
                    for offset in 0..<20 {
                        #expect(try next().body == short[(number + offset) % 40])
                    }
                case .missing:
                    #expect(try next().status == 404)
                    #expect(try next().body == short[number % 40])
                case .document:
                    #expect(try next().status == 200)
                case .publish:
                    #expect(try next().status == 201)
                    #expect(try next().body == [1, 2, 3])
                case .half:
                    #expect(try next().body == short[number % 40])
                    let rest =
                        binaries
                        ? Array(try getFrame("s1").dropFirst(10)) : Array(" HTTP/1.1\r\n\r\n".utf8)
                    client.send(rest)
                    #expect(try next().status == (binaries ? 200 : 400), "no Host")
                case .broken:
                    #expect(try next().status == 400)
                    #expect(try client.isClosed())
                case .leaving:
                    #expect(try next().body == long[number % 4])
                    #expect(try client.isClosed())
                case .rubbish:
                    #expect(try next().body == short[number % 40])
                    #expect(try next().status == 400)
                    #expect(try client.isClosed())
                }
            }
        }
        #expect(daemon.stop() == 0)
    }

    private static func frames(for errand: Errand, _ number: Int) throws -> [UInt8] {
        let short = try getFrame("s\(number % 40)")
        switch errand {
        case .short: return short
        case .long, .leaving: return try getFrame("l\(number % 4)")
        case .several: return try (0..<20).flatMap { try getFrame("s\((number + $0) % 40)") }
        case .missing: return try getFrame("none") + short
        case .document:
            var head: [UInt8] = []
            try Stat.Request.compose(id: "s1", into: &head)
            return frame(.stat, head: head)
        case .publish:
            return try putFrame(Put.Draft(id: "p\(number)"), body: [1, 2, 3])
                + getFrame("p\(number)")
        case .half: return try short + getFrame("s1").prefix(10)
        case .broken: return helloFrame
        case .rubbish: return short + [UInt8](repeating: 7, count: 300)
        }
    }

    private static func text(for errand: Errand, _ number: Int) -> [UInt8] {
        func get(_ id: String) -> String {
            "GET /v1/notifications/\(id)/payload HTTP/1.1\r\nHost: b\r\n\r\n"
        }
        let short = get("s\(number % 40)")
        let text =
            switch errand {
            case .short: short
            case .long, .leaving: get("l\(number % 4)")
            case .several: (0..<20).map { get("s\((number + $0) % 40)") }.joined()
            case .missing: get("none") + short
            case .document: "GET /v1/notifications/s1 HTTP/1.1\r\nHost: b\r\n\r\n"
            case .publish:
                "PUT /v1/notifications/h\(number)/payload HTTP/1.1\r\nHost: b\r\nContent-Length: 3\r\n\r\n\u{1}\u{2}\u{3}"
                    + get("h\(number)")
            case .half: short + "GET /v1/notifications/s1/payload"
            case .broken: "GET  /x HTTP/1.1\r\n\r\n"
            case .rubbish: short + "\u{7}\u{7}\u{7}\r\n\r\n"
            }
        return Array(text.utf8)
    }
}
