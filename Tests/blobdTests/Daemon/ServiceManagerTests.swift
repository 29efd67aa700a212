import CLinux
import Foundation
import TestSupport
import Testing

/// What the service manager is told: readiness, reloads, the end, and that there is progress.
@Suite(.waiting) struct ServiceManagerTests {
    /// The manager's end: a datagram socket.
    private final class Manager {
        let address: String
        private let descriptor: Int32
        private(set) var told: [String] = []

        init(_ address: String) throws {
            self.address = address
            descriptor = socket(
                AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            var name = sockaddr_un()
            name.sun_family = sa_family_t(AF_UNIX)
            let bytes = Array(address.utf8)
            let isAbstract = bytes[0] == UInt8(ascii: "@")
            withUnsafeMutableBytes(of: &name.sun_path) { path in
                path.copyBytes(from: bytes)
                if isAbstract { path[0] = 0 }
            }
            let length = MemoryLayout<sa_family_t>.size + bytes.count + (isAbstract ? 0 : 1)
            let code = withUnsafePointer(to: name) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(length))
                }
            }
            guard code == 0 else { throw TestFailure(address, errno) }
        }

        deinit { close(descriptor) }

        /// Waits for a message that has this line. Returns all of its lines.
        @discardableResult
        func wait(for line: String) throws -> [String] {
            while true {
                var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                guard poll(&request, 1, Patience.milliseconds) > 0 else {
                    throw TestFailure("\(line) did not come, but \(told.suffix(10))")
                }
                var bytes = [UInt8](repeating: 0, count: 4_096)
                let count = recv(descriptor, &bytes, bytes.count, 0)
                let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
                told.append(text)
                let lines = text.split(separator: "\n").map(String.init)
                if lines.contains(where: { $0.hasPrefix(line) }) { return lines }
            }
        }

        /// Takes the messages that are there.
        func drain() -> [String] {
            var messages: [String] = []
            var bytes = [UInt8](repeating: 0, count: 4_096)
            while true {
                let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
                guard count > 0 else { return messages }
                messages.append(String(decoding: bytes.prefix(count), as: UTF8.self))
            }
        }
    }

    @Test(
        "Ready, reloading, alive and stopping are told, at a path and in the abstract namespace",
        arguments: [false, true])
    func lifecycle(isAbstract: Bool) throws {
        let folder = TemporaryFolder()
        let address =
            isAbstract ? "@blobd-test-\(getpid())-\(UInt32.random(in: 0...9999))" : folder.path("n")
        let manager = try Manager(address)
        let daemon = try DaemonProcess(
            in: folder, shell: "export NOTIFY_SOCKET=\(address) WATCHDOG_USEC=40000;")
        let ready = try manager.wait(for: "READY=1")
        #expect(ready.contains { $0.hasPrefix("STATUS=0 connections, 0 requests, 0 publishes") })
        #expect(try daemon.put("1", [1]).status == 201)
        try manager.wait(for: "WATCHDOG=1")
        var status: [String] = []
        let patience = Patience()
        while !status.contains(where: { $0.hasSuffix(" 1 publishes") }) {
            status = try manager.wait(for: "WATCHDOG=1")
            try patience.wait(orThrow: "the status stays \(status)")
        }
        daemon.signal(SIGHUP)
        let reloading = try manager.wait(for: "RELOADING=1")
        #expect(reloading.contains { $0.hasPrefix("MONOTONIC_USEC=") })
        try manager.wait(for: "READY=1")
        daemon.signal(SIGTERM)
        try manager.wait(for: "STOPPING=1")
        #expect(daemon.wait() == 0)
    }

    @Test("A manager that is gone is no trouble, and a watchdog of another process is not fed")
    func leftovers() throws {
        let daemon = try DaemonProcess(
            shell: "export NOTIFY_SOCKET=/nonexistent WATCHDOG_USEC=20000;")
        #expect(try daemon.put("1", [1]).status == 201)
        #expect(daemon.stop() == 0)
        let folder = TemporaryFolder()
        let manager = try Manager(folder.path("n"))
        let other = try DaemonProcess(
            in: folder,
            shell:
                "export WATCHDOG_USEC=20000 WATCHDOG_PID=1 NOTIFY_SOCKET=\(manager.address);")
        try manager.wait(for: "READY=1")
        // It is fed every 10 ms where it is the daemon's own.
        let end = ContinuousClock.now + .milliseconds(100)
        while .now < end {
            other.signal(SIGHUP)
            try manager.wait(for: "READY=1")
        }
        #expect(other.stop() == 0)
        #expect(!(manager.told + manager.drain()).contains { $0.contains("WATCHDOG") })
    }

    @Test(
        "The watchdog hears nothing while a worker does not come around, and hears again when it does",
        .enabled(if: Machine.canTrace && !hasSanitizer, "needs strace"))
    func stuckWorker() throws {
        let folder = TemporaryFolder()
        let manager = try Manager(folder.path("n"))
        let daemon = try DaemonProcess(
            ["--workers", "1", "--spin", "0"], in: folder,
            shell: "export NOTIFY_SOCKET=\(manager.address) WATCHDOG_USEC=100000;")
        // The second one tells that all threads have started.
        for _ in 0..<2 { try manager.wait(for: "WATCHDOG=1") }
        let threads = try Self.thread(of: daemon.pid, named: "blobd-worker-0")
        let task = try #require(threads)
        let tracer = try spawn(
            [
                "/usr/bin/strace", "-qq", "-o", "/dev/null", "-p", "\(task)", "-e",
                "inject=/^epoll_p?wait:delay_exit=600000000",
            ])
        let patience = Patience()
        while !daemon.log.contains("No progress of worker 0") {
            try patience.wait(orThrow: "the worker comes around: \(daemon.log)")
        }
        // What was told before that line was.
        _ = manager.drain()
        // The main thread continues: a reload is told, and the watchdog is not.
        for _ in 0..<5 {
            daemon.signal(SIGHUP)
            #expect(try !manager.wait(for: "READY=1").contains("WATCHDOG=1"))
        }
        #expect(manager.drain().allSatisfy { !$0.contains("WATCHDOG") })
        kill(tracer, SIGKILL)
        reap(tracer)
        try manager.wait(for: "WATCHDOG=1")
        #expect(try daemon.request("GET", "/livez").status == 200)
        #expect(daemon.stop() == 0)
    }

    /// The id of a thread of a process.
    private static func thread(of pid: pid_t, named name: String) throws -> String? {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task").first {
            Files.text("/proc/\(pid)/task/\($0)/comm") == name + "\n"
        }
    }
}
