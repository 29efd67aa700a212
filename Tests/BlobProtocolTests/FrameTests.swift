import Testing

import BlobProtocol

/// The 24-byte headers of requests and responses.
@Suite struct FrameTests {
    @Test("A request header has its golden bytes and parses back")
    func goldenRequest() throws {
        let frame = RequestFrame(
            .get, flags: [.gzipAccepted], requestID: 7, headByteCount: 26, bodyByteCount: 0)
        var bytes: [UInt8] = []
        frame.compose(into: &bytes)
        #expect(
            bytes == [
                0xB1, 4, 1, 0, 7, 0, 0, 0, 26, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            ])
        let parsed = try RequestFrame.parse(bytes.span.bytes)
        #expect(parsed == frame)
    }
}
