import Foundation
import TestSupport
import Testing

@testable import BlobServer
@testable import blobd

/// `max-connections` with two sockets: each keeps a share that clients of the other one cannot use.
@Suite(.waiting) struct ReservedConnectionsTests {
    private let folder = TemporaryFolder()

    private func daemon(_ connectionCountMax: Int) throws -> DaemonProcess {
        let keys = try DeviceKeys.write(in: folder)
        return try DaemonProcess(
            [
                "--max-connections", "\(connectionCountMax)", "--signing-keys", keys,
                "--device-socket", folder.path("d"),
            ], in: folder)
    }

    // As many backends as there may be connections kept all devices waiting, and the other way round.
    @Test(
        "Connections to one socket never keep the other one's clients waiting", arguments: [0, 1])
    func shares(full: Int) throws {
        let daemon = try daemon(8)
        let paths = [daemon.socketPath, folder.path("d")]
        // More than there may be: the last ones wait in the backlog.
        var clients = try (0..<12).map { _ in try RawClient(paths[full]) }
        for client in clients { client.sendRequest("GET", "/livez") }
        for client in clients.prefix(7) { #expect(try client.answer().status == 200) }
        let other = try RawClient(paths[1 - full])
        #expect(try other.request("GET", "/livez").status == 200)
        #expect(clients.dropFirst(7).allSatisfy { !$0.waitForInput(milliseconds: 0) })
        // Who waits is accepted when others have left.
        clients.removeFirst(7)
        for client in clients { #expect(try client.answer().status == 200) }
    }

    @Test("Connections of the device socket are counted")
    func counted() throws {
        let daemon = try daemon(8)
        func count() throws -> String? {
            try daemon.request("GET", "/metrics").text.split(separator: "\n")
                .first { $0.hasPrefix("blobd_device_connections ") }.map(String.init)
        }
        let main = try daemon.connect()
        #expect(try main.request("GET", "/livez").status == 200)
        #expect(try count() == "blobd_device_connections 0")
        var device: RawClient? = try RawClient(folder.path("d"))
        #expect(try device?.request("GET", "/livez").status == 200)
        #expect(try count() == "blobd_device_connections 1")
        device = nil
        try daemon.wait(for: "it stays") { _ in try count() == "blobd_device_connections 0" }
    }

    @Test("A share is an eighth, at least one connection, and nothing of one")
    func counts() {
        for (all, share) in [(1, 0), (2, 1), (8, 1), (16, 2), (8_192, 1_024)] {
            #expect(Acceptor.reservedConnectionCount(connectionCountMax: all) == share)
        }
    }
}
