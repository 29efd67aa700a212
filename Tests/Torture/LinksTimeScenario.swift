import BlobProtocol
import Glibc
import TestSupport

/// Measures whether a wrong signature is refused later the more of it is right.
struct LinksTimeScenario: Scenario {
    static let about = About(
        "links-time", "Wrong signatures: the time of the answer says nothing about them.",
        """
        Sends links and tokens whose signatures have their first wrong byte at each of the 43 positions, over one connection, in
        an order that is drawn each time, and measures each from the request to the answer. Compared are the ranks of
        the times of those that are wrong from the first byte and those that are right up to the last third (Mann and
        Whitney): a comparison byte by byte is faster with the former. The last line says how slow a comparison would
        have been found: the same times, with more for each right byte.
        """)

    @Setting(5_000, short: 20, "How often each position is asked.") var rounds: Int

    private static let signatureByteCount = 43
    /// Times of equal distributions differ by more in one of 15,000 runs.
    private static let deviationsMax = 4.0

    func torture(_ bench: inout Workbench) throws -> [String] {
        let secret = String(repeating: "AB", count: 22)
        let keyPath = "\(bench.folder)/keys"
        try Files.write(Array("a \(secret)\n".utf8), to: keyPath)
        chmod(keyPath, 0o600)
        var daemon = try DaemonUnderTest.serving(bench, arguments: ["--signing-keys", keyPath])
        let keys = try SigningKeys(parsing: Array("a \(secret)\n".utf8))
        let expiry = Int64(time(nil)) + 3_600
        let lines =
            try measure(
                "links", try SignedLink(to: .payload(id: "42"), expiresAt: expiry, keys: keys).text,
                refused: "403", &bench
            ) { HTTPClient.request("GET", $0) }
            + measure(
                "tokens", try DeviceToken(owner: "ann", expiresAt: expiry).text(keys: keys),
                refused: "401", &bench
            ) {
                HTTPClient.request(
                    "GET", "/d/me/notifications/42", ["Authorization: Bearer \($0)"])
            }
        try daemon.stop()
        return lines
    }

    /// - Parameters:
    ///   - signed: a text that is valid and ends with its signature.
    ///   - request: a request with such a text. For the valid one, there is no notification.
    private func measure(
        _ what: String, _ signed: String, refused status: String, _ bench: inout Workbench,
        _ request: (String) -> [UInt8]
    ) throws -> [String] {
        let connection = try RawSocket.connect(to: bench.socket)
        var answers: Set<String> = []
        try require(
            try ask(request(signed), connection).answer.status == 404,
            "the right one of the \(what) is not valid")
        var times: [Sample] = []
        var positions = Array(0..<Self.signatureByteCount)
        for _ in 0..<rounds {
            positions.shuffle(using: &bench.generator)
            for position in positions {
                let wrong = spoiled(signed, at: position)
                let (answer, nanoseconds) = try ask(request(wrong), connection)
                // The date is the only field that changes.
                let fields = answer.head.fields.filter { $0.key != "date" }
                answers.insert(
                    "\(answer.status) \(fields.sorted { $0.key < $1.key }) \(answer.text)")
                times.append(Sample(position: position, nanoseconds: nanoseconds))
            }
        }
        try require(answers.count == 1, "there are \(answers.count) different answers")
        try require(
            answers.first?.hasPrefix(status) ?? false, "the answer to \(what) is not \(status)")
        let found = Self.deviations(times)
        try require(
            abs(found) < Self.deviationsMax,
            "\(what) whose signatures are right up to the last third differ by \((found * 100).rounded() / 100) deviations"
        )
        let seen = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000].first { nanoseconds in
            Self.deviations(times.map { $0.later(by: nanoseconds) }) >= Self.deviationsMax
        }
        return [
            "\(times.count) \(what) with wrong signatures, one answer",
            "median \(Self.median(times, Self.first)) ns where the first third is wrong, \(Self.median(times, Self.last)) ns where it is the last",
            "the ranks differ by \((found * 100).rounded() / 100) standard deviations",
            "found would be \(seen.map { "\($0) ns" } ?? "more than 1 µs") for each right byte",
        ]
    }

    private struct Sample {
        let position: Int
        let nanoseconds: Int

        /// The same of a comparison that ends at the first wrong byte.
        func later(by each: Int) -> Sample {
            Sample(position: position, nanoseconds: nanoseconds + position * each)
        }
    }

    private static let first = 0..<signatureByteCount / 3
    private static let last = signatureByteCount - signatureByteCount / 3..<signatureByteCount

    /// A link or token with another letter at a position of its signature.
    private func spoiled(_ signed: String, at position: Int) -> String {
        var bytes = Array(signed.utf8)
        let index = bytes.count - Self.signatureByteCount + position
        bytes[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "Q") : UInt8(ascii: "A")
        return String(decoding: bytes, as: UTF8.self)
    }

    private func ask(
        _ request: [UInt8], _ connection: RawSocket
    ) throws -> (answer: WholeAnswer, nanoseconds: Int) {
        var bytes: [UInt8] = []
        let begin = Clock.nanoseconds()
        _ = try connection.sendAll(request, answers: &bytes)
        // It is short and comes in one piece.
        _ = try connection.receive(into: &bytes) { !$0.isEmpty }
        let nanoseconds = Clock.nanoseconds() - begin
        return (try connection.answers(received: bytes)[0], nanoseconds)
    }

    private static func median(_ samples: [Sample], _ positions: Range<Int>) -> Int {
        percentile(50, of: samples.filter { positions.contains($0.position) }.map(\.nanoseconds))
    }

    /// By how many standard deviations the sum of ranks of the last positions is above what it is for
    /// equal distributions (Mann and Whitney's U, whose distribution is normal for so many).
    private static func deviations(_ samples: [Sample]) -> Double {
        let compared = samples.filter { first.contains($0.position) || last.contains($0.position) }
            .sorted { $0.nanoseconds < $1.nanoseconds }
        var (sum, index) = (0.0, 0)
        while index < compared.count {
            var end = index + 1
            while end < compared.count, compared[end].nanoseconds == compared[index].nanoseconds {
                end += 1
            }
            // Equal times share their ranks.
            let rank = Double(index + end + 1) / 2
            sum += rank * Double(compared[index..<end].count { last.contains($0.position) })
            index = end
        }
        let n = Double(compared.count { last.contains($0.position) })
        let m = Double(compared.count) - n
        let mean = n * (n + m + 1) / 2
        return (sum - mean) / (n * m * (n + m + 1) / 12).squareRoot()
    }
}
