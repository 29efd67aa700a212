import CLinux
import Foundation
import Glibc
import Logging
import TestSupport
import Testing

@testable import BlobServer

/// `--access-log`: a line for each request that was answered.
@Suite(.waiting) struct AccessLogTests {
    /// Starts a daemon that logs accesses. It has one worker: lines of two are in no order, since each
    /// hands over its own.
    private static func daemon(
        logging path: String, _ arguments: [String] = [], in folder: TemporaryFolder
    ) throws -> DaemonProcess {
        try DaemonProcess(["--access-log", path, "--workers", "1"] + arguments, in: folder)
    }

    /// Waits for so many whole lines of a file.
    private static func lines(_ path: String, _ count: Int) throws -> [String] {
        let patience = Patience()
        while true {
            // What follows the last line's end is the beginning of one that is being written.
            let lines = Files.text(path).components(separatedBy: "\n").dropLast()
            if lines.count >= count { return Array(lines) }
            try patience.wait(orThrow: "\(lines.count) of \(count) lines")
        }
    }

    private static func object(_ line: String) throws -> [String: Any] {
        let value = try JSONSerialization.jsonObject(with: Data(line.utf8))
        return try #require(value as? [String: Any])
    }

    @Test("Each request has a line that says what was asked and answered, in both dialects")
    func json() throws {
        let folder = TemporaryFolder()
        let path = "\(folder)/access.log"
        let daemon = try Self.daemon(logging: path, in: folder)
        #expect(try daemon.put("n1", [UInt8](repeating: 7, count: 3_000)).status == 201)
        let fetched = try daemon.request(
            "GET", "/v1/notifications/n1/payload?x=%22", ["User-Agent": "a \"phone\""])
        #expect(fetched.status == 200)
        #expect(try daemon.request("GET", "/api/notifications/n2").status == 404)
        let binary = try daemon.connectBinary()
        #expect(try binary.exchange(getFrame("n1")).status == 200)
        let nonsense = try daemon.connect()
        nonsense.send("NONSENSE\r\n\r\n")
        #expect(try nonsense.answer().status == 400)
        let client = try daemon.connect()
        let lines = try Self.lines(path, 6).map(Self.object)
        func check(
            _ index: Int, _ operation: String, _ method: String, _ target: String, _ status: Int
        ) {
            #expect(lines[index]["operation"] as? String == operation, "\(lines[index])")
            #expect(lines[index]["method"] as? String == method, "\(lines[index])")
            #expect(lines[index]["target"] as? String == target, "\(lines[index])")
            #expect(lines[index]["status"] as? Int == status, "\(lines[index])")
            #expect(lines[index]["socket"] as? String == "main")
            #expect(lines[index]["uid"] as? Int == Int(getuid()))
        }
        check(0, "publish", "PUT", "/v1/notifications/n1/payload", 201)
        check(1, "fetch", "GET", "/v1/notifications/n1/payload?x=%22", 200)
        #expect(lines[1]["user_agent"] as? String == "a \"phone\"")
        #expect(try #require(lines[1]["bytes"] as? Int) > 3_000)
        #expect(try #require(lines[1]["duration_ms"] as? Double) > 0)
        check(2, "fetch", "GET", "/api/notifications/n2", 404)
        #expect(lines[2]["code"] as? String == "not_found")
        check(3, "probe", "hello", "", 200)
        check(4, "fetch", "get", "n1", 200)
        // Each of many fetches has its own line, with its size.
        let sizes = [10, 2_000, 200_000]
        for size in sizes { try daemon.put("\(size)", [UInt8](repeating: 1, count: size)) }
        for number in 0..<60 {
            let id = sizes[number % 3]
            #expect(try client.request("GET", "/api/notifications/\(id)").status == 200)
        }
        for (number, line) in try Self.lines(path, 69).dropFirst(9).enumerated() {
            let (line, size) = (try Self.object(line), sizes[number % 3])
            #expect(line["target"] as? String == "/api/notifications/\(size)")
            let count = try #require(line["bytes"] as? Int)
            #expect(count > size && count < size + 600, "\(line)")
        }
    }

    @Test("A signed link's signature is not logged, whatever is wrong with it")
    func links() throws {
        let folder = TemporaryFolder()
        let path = "\(folder)/access.log"
        let keys = try DeviceKeys.write("k1", in: folder)
        let daemon = try Self.daemon(logging: path, ["--signing-keys", keys], in: folder)
        let targets = [
            "/d/n1?e=1&k=k1&sig=SECRET", "/d/n1/parts/p?e=1&k=k1&sig=SECRET",
            "/d/users/u/changes?e=1&k=k1&sig=SECRET", "/v1/nothing?sig=SECRET",
            // Mangled: the `?` is encoded, once or twice, or lost; the query too; a slash too many; upper case.
            "/d/n1%3Fe=1&k=k1&sig=SECRET", "/d/n1%3fe%3D1%26k%3Dk1%26sig%3DSECRET",
            "/d/n1%253Fe%253D1%2526k%253Dk1%2526sig%253DSECRET", "/d/n1&e=1&k=k1&sig=SECRET",
            "/d/n1e=1&k=k1&sig=SECRET", "//d/n1%3Fe=1&k=k1&s%69g=SECRET",
            "/%64%2Fn1%3Fe=1&k=k1&SECRET", "/D/N1%3FE=1&K=K1&SIG=SECRET",
            "/v1/d/n1%3Fe=1&k=k1&sig=SECRET", "/d/n1;e=1;k=k1;sig=SECRET",
            "http://b/d/n1%3Fe=1&k=k1&sig=SECRET",
        ]
        for target in targets { _ = try daemon.request("GET", target) }
        let text = try Self.lines(path, targets.count).joined()
        #expect(text.contains("\"target\":\"/d/n1\"") && !text.contains("SECRET"), "\(text)")
        #expect(!daemon.log.contains("SECRET"))
    }

    @Test("What is no link is logged whole; of a link what it is to")
    func visible() {
        for (target, isDevice, visible) in [
            ("/v1/notifications/design%3D1/payload?ttl=1", false, nil), ("/dx/n1?e=1", false, nil),
            ("/v1/notifications/a%", false, nil), ("/v1/notifications/%2", false, nil),
            ("/", false, nil), ("", false, nil), ("/d/4%202", false, nil),
            ("/d/4%202?e=1&k=k", false, "/d/4%202"), ("/d/%2525%253fx", false, "/d/%2525"),
            ("/livez?x", true, "/livez"), ("/v1/x?a=1&sig=2", false, "/v1/x"),
        ] as [(String, Bool, String?)] {
            let bytes = Array(target.utf8)
            let count = LinkRedaction.visibleByteCount(of: bytes.span.bytes, isDevice: isDevice)
            #expect(String(decoding: bytes[..<count], as: UTF8.self) == visible ?? target)
        }
    }

    @Test(
        "What is not printable ASCII is logged as a question mark, wherever it stands, up to the limit"
    )
    func printable() {
        for length in [1, 7, 8, 25] {
            for place in [0, length / 2, length - 1] {
                for byte in 0...255 as ClosedRange<UInt8> {
                    var text = [UInt8](repeating: 0x61, count: length)
                    text[place] = byte
                    let isPrintable = byte >= 0x20 && byte < 0x7F
                    let logged = LoggedRequest.text(text.span.bytes)
                    text[place] = isPrintable ? byte : UInt8(ascii: "?")
                    #expect(Array(logged.utf8) == text)
                }
            }
        }
        let limit = LoggedRequest.targetByteCountMax
        let long = [UInt8](repeating: 0x61, count: limit + 9)
        #expect(LoggedRequest.text(long.span.bytes).utf8.count == limit)
    }

    @Test("The combined format is nginx's")
    func combined() throws {
        let folder = TemporaryFolder()
        let path = "\(folder)/access.log"
        let daemon = try Self.daemon(
            logging: path, ["--access-log-format", "combined"], in: folder)
        #expect(try daemon.put("n1", [1]).status == 201)
        _ = try daemon.request("GET", "/api/notifications/n1", ["User-Agent": "a\"b"])
        let line = try Self.lines(path, 2)[1]
        let pattern =
            #"^unix: - \#(getuid()) \[\d\d/[A-Z][a-z][a-z]/\d{4}:\d\d:\d\d:\d\d \+0000\] "GET /api/notifications/n1 HTTP/1\.1" 200 \d+ "-" "a\\x22b"$"#
        #expect(line.range(of: pattern, options: .regularExpression) != nil, "\(line)")
    }

    @Test("SIGHUP opens the file again, and no line is lost")
    func reopen() throws {
        let folder = TemporaryFolder()
        let path = "\(folder)/access.log"
        let daemon = try Self.daemon(logging: path, in: folder)
        for number in 0..<10 {
            for id in 0..<10 { _ = try daemon.request("GET", "/api/notifications/\(number)-\(id)") }
            #expect(rename(path, "\(path).\(number)") == 0)
            daemon.signal(SIGHUP)
            let patience = Patience()
            while access(path, F_OK) != 0 {
                try patience.wait(orThrow: "the file is not opened again")
            }
        }
        _ = try daemon.request("GET", "/api/notifications/last")
        #expect(daemon.stop() == 0)
        // A line that waited when its file was renamed may be in the next.
        let files = (0..<10).map { "\(path).\($0)" } + [path]
        #expect(files.map { Files.text($0).split(separator: "\n").count }.reduce(0, +) == 101)
    }

    // The start, and the reload's thread, waited for a reader, and no SIGTERM ended them.
    @Test("A FIFO without a reader is refused at a start; a reload keeps the old file")
    func fifo() throws {
        let folder = TemporaryFolder()
        let (path, fifo) = ("\(folder)/access.log", "\(folder)/fifo")
        #expect(mkfifo(fifo, 0o600) == 0)
        let refusal = "--access-log \(fifo): it is a FIFO without a reader"
        let failure = #expect(throws: DaemonProcess.StartFailure.self) {
            try Self.daemon(logging: fifo, in: folder)
        }
        #expect(failure?.status == 1 && failure?.log.contains(refusal) == true, "\(failure as Any)")

        let daemon = try Self.daemon(logging: path, in: folder)
        #expect(rename(path, "\(path).old") == 0)
        #expect(rename(fifo, path) == 0)
        daemon.signal(SIGHUP)
        try daemon.waitForLog("old file: --access-log \(path): it is a FIFO without a reader")
        _ = try daemon.request("GET", "/api/notifications/1")
        #expect(try Self.lines("\(path).old", 1).count == 1)
        #expect(daemon.stop() == 0)

        // With a reader it gets the lines.
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let other = try Self.daemon(logging: path, in: folder)
        for _ in 0..<100 { _ = try other.request("GET", "/api/notifications/1") }
        #expect(other.stop() == 0)
        var text = [UInt8](repeating: 0, count: 65_536)
        let count = max(0, read(reader, &text, text.count))
        #expect(text.prefix(count).count { $0 == 0x0A } == 100)
    }

    @Test("A slow request is logged with its target, and no more of it")
    func slow() throws {
        // A millisecond is less than a commit takes.
        let daemon = try DaemonProcess(["--slow-ms", "1", "--no-write-ahead-log"])
        let patience = Patience()
        var number = 0
        while !daemon.log.contains("Slow request") {
            try patience.wait(orThrow: "nothing is slow")
            number += 1
            #expect(
                try daemon.put("slow-\(number)", [UInt8](repeating: 0x53, count: 200)).status == 201
            )
        }
        #expect(daemon.log.contains("target=PUT /v1/notifications/slow-"), "\(daemon.log)")
        #expect(daemon.log.contains("operation=publish"), "\(daemon.log)")
        #expect(!daemon.log.contains("SSSS"))
    }
}

/// `--log-format`.
@Suite(.waiting) struct LogFormatTests {
    @Test("A line of JSON for each message")
    func json() throws {
        let daemon = try DaemonProcess(["--log-format", "json"])
        #expect(daemon.stop() == 0)
        let lines = daemon.log.split(separator: "\n")
        #expect(!lines.isEmpty)
        for line in lines {
            let value = try JSONSerialization.jsonObject(with: Data(line.utf8))
            let object = try #require(value as? [String: String])
            #expect(object["time"]?.hasSuffix("Z") == true)
            #expect(object["level"] == "notice", "\(line)")
            #expect(object["message"]?.isEmpty == false)
        }
    }

    /// A socket that stands for the journal's.
    private func bindJournal(_ path: String) throws -> Int32 {
        let number = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let code = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(code == 0)
        return number
    }

    // A worker that logged waited until the journal had read.
    @Test("A journal that does not read keeps nobody, and is told how many messages were dropped")
    func stalledJournal() throws {
        let folder = TemporaryFolder()
        let number = try bindJournal("\(folder)/journal")
        defer { close(number) }
        let log = Logger(label: "blobd") { _ in FieldLogHandler.journal("\(folder)/journal") }
        let before = LogOutput.droppedCount
        // More than the queue of a socket can be set to hold here.
        let count = 2_000
        let group = DispatchGroup()
        DispatchQueue(label: "logs").async(group: group) {
            for index in 0..<count { log.warning("message \(index)") }
        }
        try #require(group.wait(timeout: .now() + .seconds(300)) == .success)
        func received() -> [String] {
            var texts: [String] = []
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while case let byteCount = recv(number, &buffer, buffer.count, Int32(MSG_DONTWAIT)),
                byteCount > 0
            {
                texts.append(String(decoding: buffer[..<byteCount], as: UTF8.self))
            }
            return texts
        }
        let first = received()
        let dropped = count - first.count
        #expect(!first.isEmpty && dropped > 0)
        #expect(LogOutput.droppedCount - before >= dropped)
        log.warning("after")
        log.warning("last")
        let texts = received()
        try #require(texts.count == 3)
        #expect(texts[0].contains("MESSAGE=\(dropped) log messages were dropped"), "\(texts[0])")
        #expect(texts[1].contains("MESSAGE=after\n") && texts[2].contains("MESSAGE=last\n"))
    }

    @Test("A message goes to the journal as a datagram of fields (systemd's native protocol)")
    func journal() throws {
        let folder = TemporaryFolder()
        let path = "\(folder)/journal"
        let number = try bindJournal(path)
        defer { close(number) }
        let log = Logger(label: "blobd") { _ in FieldLogHandler.journal(path) }
        log.warning("Slow\nrequest", metadata: ["duration-ms": "12.5", "target": "PUT /x"])
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = recv(number, &buffer, buffer.count, 0)
        let text = String(decoding: buffer[..<max(0, count)], as: UTF8.self)
        // A value of several lines goes with its length, eight bytes, little-endian.
        #expect(text.contains("MESSAGE\n\u{0C}\0\0\0\0\0\0\0Slow\nrequest\n"), "\(text)")
        for line in [
            "PRIORITY=4\n", "SYSLOG_IDENTIFIER=blobd\n", "BLOBD_DURATION_MS=12.5\n",
            "BLOBD_TARGET=PUT /x\n",
        ] {
            #expect(text.contains(line), "\(text)")
        }
    }
}
