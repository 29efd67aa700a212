/// A way to read a payload in the reader's own process.
public enum Reader: String, Codable, Sendable, CaseIterable, CodingKeyRepresentable {
    /// C: two `mdb_get`, the transaction renewed for each read.
    case c = "c-renewed"
    /// `BlobStore.withPayload`, which opens a snapshot for each read.
    case withPayload
    /// C: two `mdb_get`, the transaction renewed every 256 reads.
    case cHeld = "c-held"
    /// `BlobStore.withSnapshot`, one snapshot for 256 reads.
    case withSnapshot

    /// What it is called in tables and charts.
    public var label: String {
        switch self {
        case .c: "C, two mdb_get"
        case .withPayload: "withPayload"
        case .cHeld: "C, held view"
        case .withSnapshot: "withSnapshot"
        }
    }

    /// The C program that does the same; nil for those that are C.
    public var baseline: Reader? {
        switch self {
        case .c, .cHeld: nil
        case .withPayload: .c
        case .withSnapshot: .cHeld
        }
    }
}

/// What one way of reading did in one sample.
public struct ReadSample: Codable, Sendable {
    /// Which way.
    public var reader: Reader
    /// Which of its samples, from 0.
    public var number: Int
    /// Whole payloads found a second.
    public var readsPerSecond: Double

    /// One sample's figure.
    public init(reader: Reader, number: Int, readsPerSecond: Double) {
        self.reader = reader
        self.number = number
        self.readsPerSecond = readsPerSecond
    }
}
