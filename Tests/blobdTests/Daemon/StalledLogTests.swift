import Glibc
import TestSupport
import Testing

@testable import blobd

/// Standard error is a pipe whose reader does not read.
@Suite(.waiting) struct StalledLogTests {
    /// A pipe with a name, and its reader.
    private final class Pipe {
        let path: String
        // Opened without waiting, which holds for nobody else.
        private let descriptor: Int32

        init(in folder: TemporaryFolder) throws {
            path = folder.path("errors")
            guard mkfifo(path, 0o600) == 0 else { throw TestFailure("mkfifo", errno) }
            descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            guard descriptor >= 0 else { throw TestFailure("open", errno) }
        }

        deinit { close(descriptor) }

        /// Leaves no room for a byte.
        func fill() {
            for count in [4_096, 1] {
                let bytes = [UInt8](repeating: UInt8(ascii: "."), count: count)
                while write(descriptor, bytes, count) > 0 {}
            }
        }

        /// Takes out everything.
        func read() -> String {
            var text = ""
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while case let count = Glibc.read(descriptor, &buffer, buffer.count), count > 0 {
                text += String(decoding: buffer[..<count], as: UTF8.self)
            }
            return text
        }
    }

    private func droppedCount(_ daemon: DaemonProcess) throws -> Int {
        let metrics = try daemon.request("GET", "/metrics").text
        let line = metrics.split(separator: "\n").first { $0.hasPrefix("blobd_log_dropped_total ") }
        return line.flatMap { Int($0.split(separator: " ")[1]) } ?? -1
    }

    // The worker that logged waited for the reader, and so did all of its clients.
    @Test(
        "The daemon answers while nobody reads its log, and says later how much was dropped",
        arguments: ["text", "json"])
    func stalled(format: String) throws {
        let folder = TemporaryFolder()
        let pipe = try Pipe(in: folder)
        let daemon = try DaemonProcess(
            ["--workers", "1", "--log-format", format], in: folder, shell: "exec 2>'\(pipe.path)';")
        var random = SeededGenerator(seed: 45)
        let payload = random.bytes(200_000)
        #expect(try daemon.put("1", payload).status == 201)
        try daemon.waitUntil("log_batches") { $0 == 0 }
        try daemon.damage(payload)
        _ = pipe.read()
        #expect(try droppedCount(daemon) == 0)
        pipe.fill()

        // The only worker logs the damage, and the main thread the reload.
        let client = try daemon.connect()
        client.sendRequest("GET", "/v1/notifications/1/payload", ["Connection": "close"])
        _ = try client.receiveAll()
        daemon.signal(SIGHUP)
        try daemon.wait(for: "nothing is dropped") { try droppedCount($0) >= 2 }

        #expect(!pipe.read().contains("SIGHUP"))
        var log = ""
        try daemon.wait(for: "the log does not go on") {
            // One that changes nothing is logged once a second.
            $0.signal(SIGHUP)
            log += pipe.read()
            return log.contains("SIGHUP: reloaded")
        }
        let lines = log.split(separator: "\n")
        #expect(lines[0].contains("log messages were dropped: slow reader or full disk"), "\(log)")
        #expect(lines[0].contains("warning"), "\(log)")
        #expect(lines.last?.contains("SIGHUP: reloaded") == true, "\(log)")
        #expect(daemon.stop() == 0)
    }
}
