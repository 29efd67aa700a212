import BlobProtocol
import TestSupport
import Testing

/// The transcripts of `docs/PROTOCOL.md` and `Tests/Transcripts`, sent to a daemon with an empty store and default
/// settings.
@Suite(.waiting) struct TranscriptTests {
    private static let transcripts = Result {
        try table("transcripts", atLeast: 6, Transcript.all())
    }

    @Test("A daemon answers as the transcripts say", arguments: try transcripts.get().indices)
    func answers(_ index: Int) throws {
        let transcript = try Self.transcripts.get()[index]
        let daemon = try DaemonProcess()
        let client = try daemon.connect()
        for exchange in transcript.exchanges {
            client.send(exchange.request)
            switch exchange.response {
            case .binary(let pattern):
                let answer = try client.frameAnswer()
                var header: [UInt8] = []
                answer.frame.compose(into: &header)
                let bytes = header + answer.head + answer.body
                #expect(pattern.matches(bytes), "\(transcript.title): \(bytes)")
            case .http(let pattern):
                let answer = try client.answer()
                let fault = pattern.fault(
                    statusLine: answer.statusLine,
                    fields: answer.fields.map { (name: $0.key, value: $0.value) },
                    body: answer.body)
                #expect(fault == nil, "\(transcript.title)")
            }
        }
        if transcript.title.contains("ends the connection") { #expect(try client.isClosed()) }
    }
}
