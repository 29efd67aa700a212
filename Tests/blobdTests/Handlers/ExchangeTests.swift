import TestSupport
import Testing

/// The tables of `Tests/Exchanges`: each request is sent in the dialects that have it, and what is refused changes
/// nothing. `Exchange` explains how they are written.
@Suite(.waiting) struct ExchangeTests {
    @Test(
        "Each request is answered as its table says",
        arguments: try table("Tests/Exchanges", atLeast: 18, ExchangeTable.all))
    func answers(table: ExchangeTable) throws {
        let lineCount = try table.run { Issue.record("\($0)") }
        #expect(lineCount > 10, "the table was not read")
    }

    // The run ended with a line that waited in vain, and what was wrong before it was not said.
    @Test("A fault is reported also if a later line ends the run")
    func firstFault() {
        var faults: [String] = []
        let table = ExchangeTable(
            name: "made", text: "dialects: http\nGET /livez  → 404\n@nothing")
        #expect(throws: TestFailure.self) {
            try table.run { faults.append($0) }
        }
        #expect(faults.count == 1 && faults.first?.contains("it is 200") == true, "\(faults)")
    }

    // A column that was none of the patterns held wherever the body was not that text.
    @Test(
        "What a table cannot mean is a mistake",
        arguments: [
            "GET /x  → 200  limit = 5", "GET /x  → 200  Limit", "GET /x  → 200 OK",
            "GET /x  → fine", "GET /x  → 200  =@byte 5", "PUT /x  @byte 5  → 200", "GET /x  200",
        ])
    func mistakes(line: String) {
        #expect(throws: TestFailure.self) { try Exchange(line, at: "a table") }
    }
}
