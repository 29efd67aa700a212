import BlobProtocol
import Glibc
import TestSupport
import Testing

/// What several connections ask for at once is served in batches, and a change at a batch's start is done while its bytes
/// are there. Whatever comes together, each connection gets its own answers.
@Suite(.waiting) struct MixedBatchTests {
    /// A connection, what it has yet to send, and what it is to be answered.
    private struct Peer {
        let isBinary: Bool
        let id: String
        var speaker: Speaker
        var stored: [UInt8]?
        var unsent: [UInt8] = []
        var expected: [(status: Int, body: [UInt8]?)] = []
        /// What it says last is answered, and then the daemon closes.
        var ends = false
    }

    /// One worker has them all, or two have half each. Each request sees what those before it on its connection did. In each
    /// second round the daemon is stopped while they send, so that it finds all of it at once.
    @Test(
        "Fetches, publishes, deletes and refusals of many connections, whole and in pieces",
        arguments: ["1", "2"])
    func batches(workers: String) throws {
        let seed = testSeed(13)
        var random = SeededGenerator(seed: seed)
        let daemon = try DaemonProcess(["--workers", workers])
        let common = random.bytes(20_000)
        let long = random.bytes(150_000)
        try daemon.put("common", common)
        try daemon.put("long", long)
        var peers = try (0..<16).map { number in
            let isBinary = number % 2 == 0
            return Peer(
                isBinary: isBinary, id: "own-\(number)",
                speaker: try Speaker(daemon, isBinary: isBinary))
        }
        for round in 0..<40 {
            for index in peers.indices {
                for _ in 0..<Int.random(in: 0...5, using: &random) {
                    try Self.ask(&peers[index], common, &random)
                }
                try Self.end(&peers[index], long, Int.random(in: 0..<12, using: &random))
            }
            if round % 2 == 1 { daemon.signal(SIGSTOP) }
            // Pieces, so that most requests end in the middle of a message, often of their body. What fits no socket waits
            // for the daemon.
            while peers.contains(where: { !$0.unsent.isEmpty }) {
                var isMoving = false
                for index in peers.indices.shuffled(using: &random) {
                    let rest = peers[index].unsent
                    let wanted = Int.random(in: 0...max(1, rest.count), using: &random)
                    let count = peers[index].speaker.client.sendWithoutWaiting(
                        Array(rest.prefix(wanted)))
                    peers[index].unsent = Array(rest.dropFirst(count))
                    isMoving = isMoving || count > 0 || wanted == 0
                }
                if !isMoving { daemon.signal(SIGCONT) }
            }
            daemon.signal(SIGCONT)
            for index in peers.indices {
                let peer = peers[index]
                for (status, body) in peer.expected {
                    let got = try peer.speaker.answer()
                    #expect(got.status == status, "seed \(seed), round \(round), peer \(index)")
                    if let body {
                        #expect(got.body == body, "seed \(seed), round \(round), peer \(index)")
                    }
                }
                peers[index].expected = []
                guard peer.ends else { continue }
                peer.speaker.client.endSending()
                #expect(
                    try peer.speaker.client.isClosed(),
                    "seed \(seed), round \(round), peer \(index)")
                peers[index].ends = false
                peers[index].speaker = try Speaker(daemon, isBinary: peer.isBinary)
            }
        }
        #expect(daemon.stop() == 0)
    }

    /// Adds a request to what a peer sends, with the answer that it must get.
    private static func ask(
        _ peer: inout Peer, _ common: [UInt8], _ random: inout SeededGenerator
    ) throws {
        switch Int.random(in: 0..<8, using: &random) {
        case 0:
            peer.unsent += try peer.speaker.getRequest("common")
            peer.expected.append((200, common))
        case 1:
            peer.unsent += try peer.speaker.getRequest(peer.id)
            peer.expected.append(peer.stored.map { (200, $0) } ?? (404, nil))
        case 2:
            peer.unsent += try peer.speaker.deleteRequest(peer.id)
            peer.expected.append((peer.stored == nil ? 404 : 204, nil))
            peer.stored = nil
        case 3:
            // A life longer than any may have. The body is read all the same.
            peer.unsent += try peer.speaker.putRequest(
                peer.id, random.bytes(50), ttlSeconds: 1 << 40)
            peer.expected.append((400, nil))
        case 4:
            peer.unsent += try peer.speaker.request(.get, "/v1/notifications/common")
            peer.expected.append((200, nil))
        case 5:
            for _ in 0..<20 {
                peer.unsent += try peer.speaker.getRequest("none")
                peer.expected.append((404, nil))
            }
        default:
            let body = random.bytes(Int.random(in: 0...40_000, using: &random))
            peer.unsent += try peer.speaker.putRequest(peer.id, body)
            peer.expected.append((peer.stored == nil ? 201 : 200, nil))
            peer.stored = body
        }
    }

    /// Now and then a peer's last words are a long fetch, a request that is none, or rubbish.
    private static func end(_ peer: inout Peer, _ long: [UInt8], _ choice: Int) throws {
        switch choice {
        case 0:
            peer.unsent += try peer.speaker.getRequest("long")
            peer.expected.append((200, long))
        case 1:
            peer.unsent += peer.isBinary ? helloFrame : Array("GET  /x HTTP/1.1\r\n\r\n".utf8)
            peer.expected.append((400, nil))
        case 2:
            peer.unsent +=
                [UInt8](repeating: 7, count: peer.isBinary ? 300 : 3) + Array("\r\n\r\n".utf8)
            peer.expected.append((400, nil))
        default: return
        }
        peer.ends = true
    }
}
