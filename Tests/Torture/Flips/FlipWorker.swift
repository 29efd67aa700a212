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

    init(folder: String, blobd: String, image: [UInt8], questions: FlipQuestions) throws {
        bench = Workbench(folder: folder, blobd: blobd)
        mkdir(folder, 0o755)
        mkdir(bench.data, 0o755)
        self.image = image
        self.questions = questions
    }

    /// What was acknowledged after the damage.
    private struct Acknowledged {
        var published: [String: [UInt8]] = [:]
        var deleted: Set<String> = []
    }

    private enum Life: Equatable { case died, refused, served }

    func run(_ bit: FlipTargets.Bit) throws -> FlipFigures {
        try putImage(bit)
        var figures = FlipFigures()
        figures.images = 1
        let isClean = try verifies() == 0
        var acknowledged = Acknowledged()
        var isWhole = true
        var lives: [Life] = []
        while lives.count < Self.startCountMax {
            let life = try live(&acknowledged, &isWhole, start: lives.count)
            lives.append(life)
            if life == .refused || lives.filter({ $0 == .served }).count == 2 { break }
        }
        figures.deaths = lives.filter { $0 == .died }.count
        try require(figures.deaths <= 1, "the daemon died \(figures.deaths) times: \(lives)")
        if lives.last == .refused { figures.refused = 1 }
        let isUnharmed = isWhole && !lives.contains(.died) && !lives.contains(.refused)
        try require(
            !isClean || isUnharmed, "verify found nothing, and the daemon did (\(lives))")
        if isUnharmed { figures.harmless = 1 } else if lives.last == .served { figures.served = 1 }
        _ = try verifies()
        return figures
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
        var findings = try ask(acknowledged)
        if daemon.isRunning() {
            change(&acknowledged, start: start)
            if findings.wrong == nil {
                try check(acknowledged)
                let again = try ask(acknowledged)
                findings.wrong = again.wrong
                findings.refusals += again.refusals
                findings.hidden += again.hidden
            }
        }
        if let wrong = findings.wrong { throw TestFailure(wrong) }
        if findings.refusals + findings.hidden > 0 { isWhole = false }
        guard daemon.isRunning() else { return try how(&daemon) }
        Glibc.kill(daemon.pid, SIGTERM)
        guard daemon.waitForEnd(milliseconds: Self.deadlineMilliseconds) != nil else {
            throw TestFailure("the daemon does not stop")
        }
        return try how(&daemon) == .died ? .died : .served
    }

    private func ask(_ acknowledged: Acknowledged) throws -> FlipQuestions.Findings {
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
