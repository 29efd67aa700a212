import BlobProtocol
import Glibc
import Testing

@testable import BlobClient

/// The client for `async` programs.
@Suite struct AsyncClientTests {
    @Test func noDaemonIsAnErrorAndNotAHang() async {
        let client = BlobdClient(socketPath: "/nonexistent/blobd.sock")
        await #expect(throws: ClientError.noDaemon(path: "/nonexistent/blobd.sock", errno: ENOENT))
        {
            try await client.ping()
        }
    }
}
