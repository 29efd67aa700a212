import BlobClient
import Foundation

/// Prints what a push service would be sent, one JSON document a line: whom to, with which fields, and
/// the push.
enum Pushes {
    private struct Line: Encodable {
        var platform: String
        var handle: String
        var headers: [String: String]
        var body: String
    }

    static func send(_ envelope: RenderedEnvelope, to device: Registrations.Device) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let line = try encoder.encode(
            Line(
                platform: device.platform.rawValue, handle: device.handle,
                headers: Dictionary(
                    envelope.headers.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }),
                body: String(decoding: envelope.bytes, as: UTF8.self)))
        // Not `print`, which keeps lines back when nobody watches.
        FileHandle.standardOutput.write(Data("push: ".utf8) + line + [0x0A])
    }
}
