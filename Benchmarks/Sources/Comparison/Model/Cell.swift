/// How much is asked at once.
public struct Load: Codable, Sendable, Hashable {
    /// Connections, each of which has its requests answered in order.
    public var connections: Int
    /// Requests that a connection keeps unanswered.
    public var inFlight: Int

    /// So many connections with so many requests each.
    public init(connections: Int, inFlight: Int) {
        self.connections = connections
        self.inFlight = inFlight
    }

    /// For tables: `16 × 1`.
    public var label: String { "\(connections) × \(inFlight)" }

    /// For headings: `16 connections × 16 in flight`.
    public var title: String {
        let first = connections == 1 ? "1 connection" : "\(connections) connections"
        return inFlight == 1 ? first : "\(first) × \(inFlight) in flight"
    }
}

/// Payloads of one size under one load: one row of the table.
public struct Cell: Codable, Sendable, Hashable {
    /// Bytes in each payload.
    public var byteCount: Int
    /// How much is asked at once.
    public var load: Load

    /// Payloads of this size under this load.
    public init(byteCount: Int, load: Load) {
        self.byteCount = byteCount
        self.load = load
    }

    /// For sentences: `16 KiB, 16 × 1`.
    public var label: String { "\(NumberText.bytes(byteCount)), \(load.label)" }
}
