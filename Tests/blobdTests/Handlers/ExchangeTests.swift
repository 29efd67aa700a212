import Testing

/// The tables of `Tests/Exchanges`: each request is sent in the dialects that have it, and what is refused changes
/// nothing. `Exchange` explains how they are written.
@Suite(.waiting) struct ExchangeTests {
    @Test("Each request is answered as its table says", arguments: ExchangeTable.all)
    func answers(table: ExchangeTable) throws {
        let (lineCount, faults) = try table.run()
        #expect(lineCount > 10, "the table was not read")
        for fault in faults { Issue.record("\(fault)") }
    }
}
