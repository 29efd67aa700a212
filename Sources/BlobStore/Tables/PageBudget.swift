/// How much one page may still hold, and how much may still be read for it.
struct PageBudget {
    private let countMax: Int
    private let entryCountMax: Int
    private let byteCountMax: Int
    private var count = 0
    private var byteCount = 0
    private var entryCount = 0
    private var byteCountRead = 0

    init(countMax: Int, entryCountMax: Int, byteCountMax: Int) {
        self.byteCountMax = min(byteCountMax, StoreLimits.pageByteCountMax)
        self.countMax = countMax
        self.entryCountMax = entryCountMax
    }

    /// Whether the page ends here. The first entry is always looked at.
    var isSpent: Bool {
        count >= countMax || entryCount >= entryCountMax
            || byteCount >= byteCountMax
            || byteCountRead >= StoreLimits.pageByteCountReadMax
    }

    /// An entry was looked at, and a record of so many stored bytes was read for it.
    mutating func read(_ byteCount: Int) {
        entryCount += 1
        byteCountRead += byteCount
    }

    /// Takes something of so many stored bytes into the page. Returns false when the page is full; the first
    /// one is always taken.
    mutating func take(_ byteCount: Int) -> Bool {
        let (sum, overflow) = self.byteCount.addingReportingOverflow(byteCount)
        guard count == 0 || (!overflow && sum <= byteCountMax) else { return false }
        count += 1
        self.byteCount = sum
        return true
    }
}
