import AsyncHTTPClient
import Foundation

enum PushOutcome: Sendable {
    case sent
    case unregistered(String)
    case failed(String)
}

/// Sends pushes to their services over HTTP/2, and repeats those that may be accepted later.
struct PushClient: Sendable {
    private static let attemptsMax = 5
    private static let pauseMax = Duration.seconds(60)
    private static let answerByteCountMax = 64 << 10

    let http: HTTPClient
    /// The pause after the first failed attempt.
    let firstPause: Duration

    /// Makes up to five attempts, none after the notification has expired. Waits between them as long
    /// as the service asks for, and twice as long each time.
    ///
    /// - Throws: `CancellationError`.
    func send(_ push: Push, to service: any PushService) async throws -> PushOutcome {
        var attempt = 0
        while true {
            let problem: String
            var pause = firstPause * (1 << attempt)
            do {
                let bearer = try await service.token.text()
                let answer = try await ask(service.request(for: push, bearer: bearer))
                problem = "\(answer)"
                switch service.verdict(on: answer) {
                case .accepted: return .sent
                case .unregistered: return .unregistered(problem)
                case .refused: return .failed(problem)
                case .busy: pause = max(pause, answer.retryAfter ?? .zero)
                case .bearerRefused:
                    await service.token.discard(bearer)
                    pause = .zero
                }
            } catch {
                problem = "\(error)"
            }
            attempt += 1
            guard attempt < Self.attemptsMax, pause <= Self.pauseMax else {
                return .failed(problem)
            }
            // Pushes that failed together must not all be repeated together.
            pause = pause * Double.random(in: 1...1.25)
            // A push counts its lifetime in whole seconds.
            guard Date.now + pause / .seconds(1) + 1 < push.expiry else { return .failed(problem) }
            try await Task.sleep(for: pause)
        }
    }

    func ask(_ request: HTTPClientRequest) async throws -> PushAnswer {
        let response = try await http.execute(request, timeout: .seconds(10))
        let body = try await response.body.collect(upTo: Self.answerByteCountMax)
        return PushAnswer(
            status: response.status.code, body: String(buffer: body),
            retryAfter: response.headers.first(name: "retry-after").flatMap(Int.init).map {
                .seconds($0)
            })
    }
}
