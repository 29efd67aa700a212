import Glibc

/// A run: all connections in one thread, closed loop, for a time.
struct BenchRun {
    var path: String
    var workload: BenchWorkload
    var connections: Int
    var depth: Int
    var seconds: Double
    var warmUpSeconds: Double

    /// What a run found.
    struct Figures: Encodable, Sendable {
        var requests: Int
        var seconds: Double
        var requestsPerSecond: Double
        var megabytesPerSecond: Double
        var p50Microseconds: Int
        var p99Microseconds: Int
        var p999Microseconds: Int
    }

    private static let receiveByteCount = 256 << 10

    func run() throws -> Figures {
        let fetches =
            workload.publishes
            ? [] : try (0..<workload.payloads.count).map { try workload.fetch($0) }
        var clients: [BenchConnection] = []
        for index in 0..<connections {
            clients.append(
                try BenchConnection(
                    path: path, workload: workload, fetches: fetches, depth: depth, index: index,
                    of: connections))
        }
        var polled = clients.map { pollfd(fd: $0.descriptor, events: 0, revents: 0) }
        var buffer = [UInt8](repeating: 0, count: Self.receiveByteCount)
        let begin = monotonicNanoseconds()
        let counted = begin + UInt64(warmUpSeconds * 1e9)
        let end = counted + UInt64(seconds * 1e9)
        var isCounting = false
        var requests = 0
        var now = begin
        for client in clients { try client.advance(now: now) }
        while now < end {
            if !isCounting && now >= counted {
                isCounting = true
                for client in clients { client.isCounting = true }
            }
            for index in clients.indices {
                polled[index].events =
                    Int16(POLLIN) | (clients[index].wantsToSend ? Int16(POLLOUT) : 0)
            }
            let ready = poll(&polled, nfds_t(polled.count), 1_000)
            if ready < 0 && errno != EINTR { throw BenchFailure("poll: \(errorText(errno))") }
            now = monotonicNanoseconds()
            for index in clients.indices where polled[index].revents != 0 {
                let completed = try clients[index].receive(into: &buffer)
                if isCounting { requests += completed }
                try clients[index].advance(now: now)
            }
        }
        let elapsed = Double(now - counted) / 1e9
        return figures(requests, elapsed, clients.flatMap(\.latencies).sorted())
    }

    private func figures(_ requests: Int, _ elapsed: Double, _ sorted: [UInt32]) -> Figures {
        func percentile(_ share: Double) -> Int {
            sorted.isEmpty
                ? 0 : Int(sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))])
        }
        let rate = Double(requests) / elapsed
        return Figures(
            requests: requests, seconds: elapsed, requestsPerSecond: rate,
            megabytesPerSecond: rate * Double(workload.payloads.byteCount) / 1e6,
            p50Microseconds: percentile(0.5), p99Microseconds: percentile(0.99),
            p999Microseconds: percentile(0.999))
    }
}
