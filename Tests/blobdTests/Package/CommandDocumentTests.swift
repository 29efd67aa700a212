import TestSupport
import Testing

@Suite(.waiting) struct CommandDocumentTests {
    @Test("COMMANDS.md is what the program says of its commands")
    func commands() throws {
        let (end, output, errors) = try run([
            "\(Files.package)/Packaging/man-pages", "--markdown", DaemonProcess.program,
        ])
        try #require(end == .exited(0), "\(errors)")
        #expect(
            String(decoding: output, as: UTF8.self)
                == Files.text("\(Files.package)/docs/COMMANDS.md"),
            "run Packaging/man-pages --markdown .build/debug/blobd > docs/COMMANDS.md")
    }
}
