/// What a probe of conditional creates saw.
package struct ProbeReport: Sendable, Equatable {
    /// How many names were raced for.
    package var nameCount = 0
    /// How many clients wanted each.
    package var racerCount = 0
    /// Names that exactly one client created, and that have its bytes.
    package var soundNameCount = 0
    /// Creates that were answered with an error or not at all. Their names are sound if what is there is one of theirs.
    package var unknownCount = 0
    /// What was wrong, a sentence for each name, at most 10.
    package var faults: [String] = []
    /// How many names were wrong.
    package var faultyNameCount = 0

    /// Why what was made is there still; nil: it is deleted.
    package var deletionError: ObjectStoreError?

    /// Whether a store may rely on this server.
    package var isSound: Bool {
        faultyNameCount == 0 && soundNameCount == nameCount && nameCount > 0
    }

    static let faultCountMax = 10

    mutating func append(fault: String) {
        faultyNameCount += 1
        if faults.count < Self.faultCountMax { faults.append(fault) }
    }
}
