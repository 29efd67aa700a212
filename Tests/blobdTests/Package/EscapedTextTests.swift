import TestSupport
import Testing

/// The check of a release build for a fault of the compiler (`Scripts/escaped-text.awk`).
@Suite(.waiting) struct EscapedTextTests {
    private static let getter = "<$sSS8UTF8ViewV4spans4SpanVys5UInt8VGvg"

    private static func listing(
        _ call: String, _ jump: String, jumpIsFirst: Bool = false
    ) -> String {
        let lines = ["\(call) 401800 \(getter)>", jump]
        let third = jumpIsFirst ? lines.reversed() : lines
        return """
            0000000000401000 <first>:
              401000:\t\(call) 401800 \(getter)@plt>
              401005:\tnop

            0000000000401010 <second>:
              401010:\t\(jump)

            0000000000401020 <third>:
              401020:\t\(third[0])
              401025:\t\(third[1])
            """
    }

    private func check(_ listing: String) throws -> (end: ProcessEnd, output: String) {
        let result = try run(
            ["/usr/bin/awk", "-f", "\(Files.package)/Scripts/escaped-text.awk"],
            input: Array(listing.utf8))
        return (result.end, String(decoding: result.output, as: UTF8.self))
    }

    @Test(
        "A jump to another function after a text's bytes were taken is named",
        arguments: [
            ("call  ", "jmp    401900 <store>"), ("call  ", "jne    401900 <store>"),
            ("bl     ", "b      401900 <store>"), ("bl     ", "b.eq   401900 <store>"),
        ])
    func found(call: String, jump: String) throws {
        for jumpIsFirst in [false, true] {
            let (end, output) = try check(Self.listing(call, jump, jumpIsFirst: jumpIsFirst))
            #expect(end == .exited(1) && output == "third ends by a jump to store\n")
        }
    }

    @Test(
        "Jumps inside a function, and to what takes no span, are none",
        arguments: [
            "jmp    401030 <third+0x10>", "jmp    401020 <third>",
            "jmp    401900 <swift_release@plt>", "jmp    401900 <$s4Text5ValueOWOe>",
            "jmp    401900 <$s4Text5storeyySSF>", "ret",
        ])
    func sound(jump: String) throws {
        let (end, output) = try check(Self.listing("call  ", jump))
        #expect(end == .exited(0) && output == "")
    }

    @Test("A program in which nothing is found to check is not called sound")
    func blind() throws {
        #expect(try check("0000000000401000 <first>:\n  401000:\tret\n").end == .exited(1))
    }
}
