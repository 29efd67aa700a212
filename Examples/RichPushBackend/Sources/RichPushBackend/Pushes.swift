import AsyncHTTPClient
import BlobClient
import Foundation

/// Sends pushes to APNs and FCM. Without credentials for a service, and for WNS, it prints them.
struct Pushes: Sendable {
    private struct Line: Encodable {
        var platform: String
        var handle: String
        var headers: [String: String]
        var body: String
    }

    private let client: PushClient
    private var services: [EnvelopePlatform: any PushService] = [:]

    init(_ environment: Variables, _ http: HTTPClient) async throws {
        let pause = environment["PUSH_PAUSE"].flatMap(Double.init) ?? 1
        client = PushClient(http: http, firstPause: .seconds(pause))
        services[.apns] = try await APNs(environment)
        services[.fcm] = try await FCM(environment, client)
        let printed = EnvelopePlatform.allCases.filter { services[$0] == nil }.map(\.rawValue)
        Self.say("no credentials for \(printed.joined(separator: ", ")): their pushes are printed")
    }

    func send(_ push: Push) async throws -> PushOutcome {
        guard let service = services[push.device.platform] else {
            try simulate(push)
            return .sent
        }
        let outcome = try await client.send(push, to: service)
        let device = "\(push.device.platform.rawValue) \(push.device.handle)"
        switch outcome {
        case .sent: Self.say("sent: \(device)")
        case .unregistered(let reason): Self.say("dropped: \(device): \(reason)")
        case .failed(let reason): Self.say("failed: \(device): \(reason)")
        }
        return outcome
    }

    /// Prints what a push service would be sent, one JSON document a line.
    private func simulate(_ push: Push) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let line = try encoder.encode(
            Line(
                platform: push.device.platform.rawValue, handle: push.device.handle,
                headers: Dictionary(
                    push.envelope.headers.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }),
                body: String(decoding: push.envelope.bytes, as: UTF8.self)))
        Self.say("push: \(String(decoding: line, as: UTF8.self))")
    }

    private static func say(_ line: String) {
        // Not `print`, which keeps lines back when nobody watches.
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }
}

/// The environment.
typealias Variables = [String: String]

extension Variables {
    func require(_ name: String) throws -> String {
        guard let value = self[name] else { throw PushError(description: "\(name) is not set") }
        return value
    }
}
