import Logging

/// How many descriptors there are for what.
struct DescriptorBudget: Equatable {
    /// Descriptors that are left unused, for spooled bodies and whatever libraries open.
    static let reserve = 32
    /// Bodies that are spooled to files at once.
    static let spoolCountCap = 512
    /// Connections whose peers have not read what was sent without a copy: each may come to drain. Payloads are copied to
    /// the others.
    static let drainingCountCap = 2_048
    /// The least of these where descriptors are few.
    private static let drainingCountMin = 256

    let connectionCountMax: Int
    /// Files that bodies are spooled to.
    let spoolCountMax: Int
    /// Connections that have ended and are kept until their peers have read what they were sent.
    let drainingCountMax: Int

    /// - Parameters:
    ///   - descriptorMax: the process's limit (`RLIMIT_NOFILE`).
    ///   - connectionCountMax: connections that are wanted. They are fewer where too little would be
    ///     left for files and for draining: as much as is wanted for these, or an eighth of what
    ///     there is.
    init(descriptorMax: Int, connectionCountMax wanted: Int, workerCount: Int) {
        // Standard streams, the store's files, the listener, signals; an epoll set and an eventfd
        // for each worker; what each publisher compresses a spooled body to.
        let used = 24 + 2 * workerCount + PublisherPool.threadCount
        let free = max(8, descriptorMax - Self.reserve - used)
        let spools = max(1, min(Self.spoolCountCap, free / 8))
        let draining = max(1, min(Self.drainingCountMin, free / 8))
        spoolCountMax = spools
        connectionCountMax = min(wanted, free - spools - draining)
        // What is left over is for draining, too.
        drainingCountMax = min(
            Self.drainingCountCap, free - spools - connectionCountMax)
    }

    /// Tells the operator where there are fewer connections than `limits` allow.
    func note(_ limits: DaemonLimits, descriptorMax: Int, _ log: Logger) {
        guard connectionCountMax < limits.connectionCountMax else { return }
        log.notice(
            "Descriptors (ulimit -n \(descriptorMax)) allow \(connectionCountMax) connections, not \(limits.connectionCountMax)"
        )
    }
}
