import CLinux
import Foundation
import TestSupport

/// Stands between a client and a daemon, and passes everything on, but for one bit of one byte of
/// what the daemon says on each connection.
final class FaultyRelay: Sendable {
    /// Where clients connect.
    let path: String
    private let folder = TemporaryFolder()
    private let listener: Int32

    /// Relays to the daemon at `target` until it is let go of.
    ///
    /// - Parameter fault: which byte of the daemon's on each connection is passed on wrong.
    init(to target: String, faultAt fault: Int) throws {
        path = "\(folder)/relay"
        let listener = clinux_unix_socket()
        self.listener = listener
        guard Self.name(path, { clinux_bind(listener, $0, $1) }), listen(listener, 64) == 0 else {
            throw TestFailure("bind", errno)
        }
        Thread.detachNewThread {
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                let server = clinux_unix_socket()
                guard Self.name(target, { clinux_connect(server, $0, $1) }) else { return }
                Thread.detachNewThread { Self.pass(client, server, fault) }
            }
        }
    }

    /// Calls with a path's bytes and their number; whether the call returned 0.
    private static func name(
        _ path: String, _ call: (UnsafeRawPointer?, Int) -> Int32
    ) -> Bool {
        Array(path.utf8).withUnsafeBytes { call($0.baseAddress, $0.count) } == 0
    }

    deinit {
        // Wakes the accepting thread, which ends then.
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private static func pass(_ client: Int32, _ server: Int32, _ fault: Int) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var said = 0
        var polled = [client, server].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        passing: while poll(&polled, 2, -1) >= 0 {
            for (from, to) in [(0, 1), (1, 0)] where polled[from].revents != 0 {
                let count = recv(polled[from].fd, &buffer, buffer.count, 0)
                guard count > 0 else { break passing }
                if from == 1 {
                    if (said..<said + count).contains(fault) { buffer[fault - said] ^= 1 }
                    said += count
                }
                var sent = 0
                while sent < count {
                    let more = buffer.withUnsafeBytes {
                        send(
                            polled[to].fd, $0.baseAddress! + sent, count - sent,
                            Int32(MSG_NOSIGNAL))
                    }
                    guard more > 0 else { break passing }
                    sent += more
                }
            }
        }
        close(client)
        close(server)
    }
}
