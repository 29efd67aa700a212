import CLinux
import Foundation
import Synchronization
import TestSupport
import Testing

/// Sockets that a service manager holds and passes: a restart refuses nobody, and the sockets stay.
@Suite(.waiting, .enabled(if: Activator.isAvailable, "needs cc"))
struct SocketActivationTests {
    @Test("Ten restarts among 10,000 connects: each is answered, and nothing acknowledged is lost")
    func restarts() throws {
        let activator = try Activator()
        let path = activator.socketPath
        let count = Atomic<Int>(0)
        let acknowledged = Mutex<[String]>([])
        let (clientCount, connectCount) = (4, 2_500)
        let group = DispatchGroup()
        for client in 0..<clientCount {
            DispatchQueue(label: "client \(client)").async(group: group) {
                for number in 0..<connectCount {
                    #expect(throws: Never.self) {
                        if number.isMultiple(of: 10) {
                            let id = "\(client)-\(number)"
                            let status = try Self.status(
                                path, "PUT", "/v1/notifications/\(id)/payload", body: [1, 2, 3])
                            #expect(status == 201 || status == 200)
                            acknowledged.withLock { $0.append(id) }
                        } else {
                            #expect(try Self.status(path, "GET", "/livez") == 200)
                        }
                    }
                    count.add(1, ordering: .relaxed)
                }
            }
        }
        let all = clientCount * connectCount
        for restart in 1...10 {
            let patience = Patience()
            while count.load(ordering: .relaxed) < restart * all / 11 {
                try patience.wait(orThrow: "no connect is answered: \(activator.log)")
            }
            activator.restart()
        }
        group.wait()
        let ids = acknowledged.withLock { $0 }
        #expect(ids.count == all / 10)
        let reader = try RawClient(path)
        for id in ids {
            #expect(
                try reader.request("GET", "/v1/notifications/\(id)/payload").body == [1, 2, 3])
        }
        activator.stop()
        #expect(activator.statuses == [String](repeating: "0", count: 11), "\(activator.log)")
        #expect(access(path, F_OK) == 0, "a passed socket is not the daemon's to remove")
    }

    /// Connects and asks. A stop waits `Worker.firstRequestMilliseconds` for the request of a client that has
    /// connected. One that a busy machine kept from sending for as long may be closed without an answer, and asks again.
    private static func status(
        _ path: String, _ method: String, _ target: String, body: [UInt8] = []
    ) throws -> Int {
        var lateCount = 0
        while true {
            let start = ContinuousClock.now
            do {
                return try RawClient(path).request(method, target, body: body).status
            } catch {
                lateCount += 1
                guard lateCount <= 10, ContinuousClock.now - start > .milliseconds(900) else {
                    throw error
                }
            }
        }
    }

    @Test("The socket of devices is passed by its name")
    func devices() throws {
        let folder = TemporaryFolder()
        let keys = try DeviceKeys.write(in: folder)
        let activator = try Activator(["--signing-keys", keys], hasDevices: true, folder: folder)
        #expect(try RawClient(activator.socketPath).request("GET", "/v1/stats").status == 200)
        #expect(try RawClient(activator.devicePath).request("GET", "/livez").status == 200)
        #expect(try RawClient(activator.devicePath).request("GET", "/v1/stats").status == 404)

        let grouped = try Activator(["--socket-group", "12345"])
        #expect(try RawClient(grouped.socketPath).request("GET", "/livez").status == 200)
        #expect(grouped.log.contains("socket-group is ignored"))

        let withoutKeys = try Activator(hasDevices: true)
        withoutKeys.stop()
        #expect(withoutKeys.statuses == ["2"])
        #expect(withoutKeys.log.contains("serves signed links: --signing-keys is required"))
    }

    @Test("What is no listening socket, or too many, is refused")
    func mistakes() throws {
        let folder = TemporaryFolder()
        func serve(_ prefix: String) throws -> String {
            let command =
                "\(prefix) exec \(DaemonProcess.program) serve --data \(folder)/data"
            let (end, _, errors) = try run(["/bin/bash", "-c", command])
            #expect(end != .exited(0))
            return errors
        }
        #expect(
            try serve("exec 3</dev/null; LISTEN_FDS=1 LISTEN_PID=$$")
                .contains("descriptor 3 is not a listening Unix stream socket"))
        #expect(try serve("LISTEN_FDS=2 LISTEN_PID=$$").contains("2 sockets were passed"))
        // Those of another process are not looked at.
        #expect(try serve("LISTEN_FDS=1 LISTEN_PID=1").contains("--socket is missing"))
    }
}
