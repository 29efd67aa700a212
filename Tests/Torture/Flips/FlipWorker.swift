import Glibc
import TestSupport

/// A folder in which one damaged image after the other is tried.
struct FlipWorker {
    private let bench: Workbench
    private let image: [UInt8]
    private let questions: FlipQuestions

    /// Starts that one image is given at the most.
    private static let startCountMax = 3
    private static let deadlineMilliseconds = 30_000

    init(_ bench: Workbench, _ image: [UInt8], _ questions: FlipQuestions) {
        mkdir(bench.data, 0o755)
        (self.bench, self.image, self.questions) = (bench, image, questions)
    }

    /// What was acknowledged after the damage.
    private struct Acknowledged {
        var published: [String: [UInt8]] = [:]
        var deleted: Set<String> = []
    }

    private enum Life: Equatable { case died, refused, served }

    /// Tries an image. Returns what came of it, in words that can be counted.
    func run(_ bit: FlipTargets.Bit) throws -> [String] {
        try putImage(bit)
        let isClean = try verifies() == 0
        var acknowledged = Acknowledged()
        var isWhole = true
        var lives: [Life] = []
        while lives.count < Self.startCountMax {
            let life = try live(&acknowledged, &isWhole, start: lives.count)
            lives.append(life)
            if life == .refused || lives.count(where: { $0 == .served }) == 2 { break }
        }
        let deaths = lives.count { $0 == .died }
        try require(deaths <= 1, "the daemon died \(deaths) times: \(lives)")
        let isUnharmed = isWhole && lives.allSatisfy { $0 == .served }
        try require(
            !isClean || isUnharmed, "verify found nothing, and the daemon did (\(lives))")
        _ = try verifies()
        let fate =
            isUnharmed
            ? "as if nothing were" : lives.last == .served ? "served in part" : "refused"
        return ["images", fate] + (deaths > 0 ? ["deaths by \(bit.kind)"] : [])
    }

    private func putImage(_ bit: FlipTargets.Bit) throws {
        for name in ["lock.mdb", "changes.log", "changes.pending", "blobd.died"] {
            unlink("\(bench.data)/\(name)")
        }
        var bytes = image
        bytes[bit.offset] ^= 1 << UInt8(bit.bit)
        try Files.write(bytes, to: bench.data + "/data.mdb")
    }

    /// `blobd verify`'s exit code, which is 0 or 1.
    private func verifies() throws -> Int32 {
        let ending = try runToEnd([bench.blobd, "verify", "--data", bench.data], log: bench.log)
        guard case .exited(let code) = ending, code <= 1 else {
            throw TestFailure("verify ended with \(ending)")
        }
        return code
    }

    /// One run of a daemon.
    private func live(
        _ acknowledged: inout Acknowledged, _ isWhole: inout Bool, start: Int
    ) throws -> Life {
        var daemon = try DaemonUnderTest(starting: bench, arguments: FlipsScenario.arguments)
        let deadline = Clock.milliseconds() + Self.deadlineMilliseconds
        while !daemon.isAnswering() {
            guard daemon.isRunning() else { return try how(&daemon) }
            try require(Clock.milliseconds() < deadline, "the daemon does not answer")
            Clock.pause(microseconds: 500)
        }
        try check(acknowledged)
        var missingCount = try ask(acknowledged)
        if daemon.isRunning() {
            change(&acknowledged, start: start)
            try check(acknowledged)
            missingCount += try ask(acknowledged)
        }
        if missingCount > 0 { isWhole = false }
        guard daemon.isRunning() else { return try how(&daemon) }
        Glibc.kill(daemon.pid, SIGTERM)
        guard daemon.waitForEnd(milliseconds: Self.deadlineMilliseconds) != nil else {
            throw TestFailure("the daemon does not stop")
        }
        return try how(&daemon) == .died ? .died : .served
    }

    private func ask(_ acknowledged: Acknowledged) throws -> Int {
        try questions.ask(
            bench.socket, without: acknowledged.deleted,
            isChanged: !acknowledged.published.isEmpty || !acknowledged.deleted.isEmpty)
    }

    private func how(_ daemon: inout DaemonUnderTest) throws -> Life {
        switch daemon.waitForEnd(milliseconds: Self.deadlineMilliseconds) {
        case .killed: return .died
        case .exited: return .refused
        case nil: throw TestFailure("the daemon does not end")
        }
    }

    /// Publishes and deletes. What is refused is no matter.
    private func change(_ acknowledged: inout Acknowledged, start: Int) {
        for (index, byteCount) in [100, 3_000, 80_000].enumerated() {
            let payload = Payload(
                seed: UInt64(50 + 10 * start + index), byteCount: byteCount, kind: .noise)
            let id = "new-\(start)-\(index)"
            let bytes = payload.bytes()
            let target = "/v1/notifications/\(id)/payload?ttl=86400&owner=owner-1"
            let answer = try? HTTPClient.call(
                "PUT", target, type: payload.mediaType, bytes, at: bench.socket)
            if let answer, answer.status == 200 || answer.status == 201 {
                acknowledged.published[id] = bytes
            }
        }
        for index in [2 + 6 * start, 4 + 6 * start] {
            let answer = try? HTTPClient.call(
                "DELETE", "/v1/notifications/n\(index)", at: bench.socket)
            if answer?.status == 204 { acknowledged.deleted.insert("n\(index)") }
        }
    }

    /// What was acknowledged is there, or it is said that it cannot be read.
    private func check(_ acknowledged: Acknowledged) throws {
        for (id, bytes) in acknowledged.published {
            guard
                let answer = try? HTTPClient.call(
                    "GET", "/v1/notifications/\(id)/payload", at: bench.socket)
            else { continue }
            try require(
                answer.status >= 500 || answer.status == 200 && answer.body == bytes,
                "\(id) was acknowledged, and is answered \(answer.status)")
        }
        for id in acknowledged.deleted {
            let answer = try? HTTPClient.call(
                "GET", "/v1/notifications/\(id)/payload", at: bench.socket)
            try require(answer?.status != 200, "\(id) was deleted, and is there")
        }
    }
}
