import BlobProtocol
import Glibc
import TestSupport
import Testing

/// Requests of many connections that are found at once: they are answered together.
@Suite(.waiting) struct RequestBatchTests {
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
            let speakers = try errands.map { _ in
                let speaker = try Speaker(daemon, isBinary: binaries)
                // Its worker knows it by now.
                if !binaries {
                    #expect(try speaker.client.request("GET", "/healthz").status == 200)
                }
                return speaker
            }
            daemon.signal(SIGSTOP)
            for (number, speaker) in speakers.enumerated() {
                speaker.client.send(try Self.bytes(for: errands[number], number, speaker))
                if errands[number] == .leaving { speaker.client.endSending() }
            }
            daemon.signal(SIGCONT)
            for (number, speaker) in speakers.enumerated() {
                let client = speaker.client
                switch errands[number] {
                case .short:
                    #expect(try speaker.answer().body == short[number % 40])
                case .long:
                    #expect(try speaker.answer().body == long[number % 4])
                case .several:
                    for offset in 0..<20 {
                        #expect(try speaker.answer().body == short[(number + offset) % 40])
                    }
                case .missing:
                    #expect(try speaker.answer().status == 404)
                    #expect(try speaker.answer().body == short[number % 40])
                case .document:
                    #expect(try speaker.answer().status == 200)
                case .publish:
                    #expect(try speaker.answer().status == 201)
                    #expect(try speaker.answer().body == [1, 2, 3])
                case .half:
                    #expect(try speaker.answer().body == short[number % 40])
                    let rest =
                        binaries
                        ? Array(try getFrame("s1").dropFirst(10)) : Array(" HTTP/1.1\r\n\r\n".utf8)
                    client.send(rest)
                    #expect(try speaker.answer().status == (binaries ? 200 : 400), "no Host")
                case .broken:
                    #expect(try speaker.answer().status == 400)
                    #expect(try client.isClosed())
                case .leaving:
                    #expect(try speaker.answer().body == long[number % 4])
                    #expect(try client.isClosed())
                case .rubbish:
                    #expect(try speaker.answer().body == short[number % 40])
                    #expect(try speaker.answer().status == 400)
                    #expect(try client.isClosed())
                }
            }
        }
        #expect(daemon.stop() == 0)
    }

    private static func bytes(
        for errand: Errand, _ number: Int, _ speaker: Speaker
    ) throws -> [UInt8] {
        let short = try speaker.getRequest("s\(number % 40)")
        switch errand {
        case .short: return short
        case .long, .leaving: return try speaker.getRequest("l\(number % 4)")
        case .several:
            return try (0..<20).flatMap { try speaker.getRequest("s\((number + $0) % 40)") }
        case .missing: return try speaker.getRequest("none") + short
        case .document:
            return try speaker.request(.get, "/v1/notifications/s1")
        case .publish:
            let id = "\(speaker.isBinary ? "p" : "h")\(number)"
            return try speaker.putRequest(id, [1, 2, 3]) + speaker.getRequest(id)
        case .half:
            let half =
                speaker.isBinary
                ? Array(try getFrame("s1").prefix(10))
                : Array("GET /v1/notifications/s1/payload".utf8)
            return short + half
        case .broken:
            return speaker.isBinary ? helloFrame : Array("GET  /x HTTP/1.1\r\n\r\n".utf8)
        case .rubbish:
            let rubbish = [UInt8](repeating: 7, count: speaker.isBinary ? 300 : 3)
            return short + rubbish + Array("\r\n\r\n".utf8)
        }
    }
}
