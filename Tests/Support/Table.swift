/// The rows of a table, for the `arguments:` of a test. Without a row a test passes, having tried nothing.
///
/// - Throws: when there are fewer than `least`: then the test fails.
public func table<Rows: Collection>(
    _ name: String, atLeast least: Int, _ rows: Rows
) throws(TestFailure) -> Rows {
    try require(
        rows.count >= least,
        "\(name): \(rows.count) found, and there must be \(least) at least; were they moved?")
    return rows
}
