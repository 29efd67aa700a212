import BlobClient
import TestSupport
import Testing

@testable import BlobServer
@testable import blobd

/// What the commands read from the command line, and what they write for people.
@Suite struct CommandTextTests {
    @Test func lifetimesAreSecondsAndSizesAreBytes() {
        for (text, seconds) in [
            ("1", 1), ("90", 90), ("90s", 90), ("15m", 900), ("24h", 86_400), ("30d", 2_592_000),
            ("007", 7), ("9223372036854775807", Int64.max),
        ] { #expect(CommandLineText.seconds(text) == seconds, "\(text)") }
        for text in [
            "", "0", "0d", "s", "-5", "+5", "1.5h", "5 m", " 5", "5w", "5mm", "٣", "5\u{301}",
            "1e3",
            "9223372036854775808", "9223372036854775807m", "106751991167301d",
        ] { #expect(CommandLineText.seconds(text) == nil, "\(text)") }
        for (text, byteCount) in [
            ("0", 0), ("65536", 65_536), ("512KiB", 512 << 10), ("64MiB", 64 << 20),
            ("2GiB", 2 << 30), ("1TiB", 1 << 40), ("1KB", 1_000), ("10MB", 10_000_000),
            ("3GB", 3_000_000_000), ("2TB", 2_000_000_000_000),
        ] { #expect(ByteCountText(argument: text)?.byteCount == byteCount, "\(text)") }
        for text in [
            "", "MB", "-1", "1.5MB", "1 MB", "1mb", "1M", "1MiBs", "9223372036854775808",
            "9223373TB", "8388608TiB",
        ] { #expect(ByteCountText(argument: text) == nil, "\(text)") }
    }

    @Test func timesGoBothWays() throws {
        #expect(try CommandLineText.time("2026-12-01T00:00:00Z") == 1_796_083_200_000)
        #expect(try CommandLineText.time("2026-12-01T01:00:00+01:00") == 1_796_083_200_000)
        #expect(CommandLineText.text(milliseconds: 1_796_083_200_000) == "2026-12-01T00:00:00.000Z")
    }

    @Test func endingsSuggestTypes() {
        for (name, mediaType) in [
            ("photo.jpg", "image/jpeg"), ("a.jfif", "image/jpeg"), ("a.apng", "image/apng"),
            ("a.3gp", "video/3gpp"), ("/a.b/PHOTO.JPEG", "image/jpeg"), ("a.png", "image/png"),
            ("chime.wav", "audio/wav"), ("badge.svg", "image/svg+xml"),
            ("x.tar.gz", "application/gzip"), ("", nil), ("-", nil), ("photo", nil),
            ("dir.png/photo", nil), ("photo.", nil), ("photo.xyz", nil),
        ] { #expect(MediaTypes.suggested(by: name) == mediaType, "\(name)") }
    }

    @Test func figuresAreReadable() {
        for (count, text) in [
            (0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (122_201, "122.2 kB"),
            (999_949, "999.9 kB"), (999_950, "1.0 MB"), (67_108_864, "67.1 MB"),
            (1_222_010_000, "1.2 GB"), (Int.max, "9.2 EB"),
        ] { #expect(HumanText.bytes(count) == text) }
        for (milliseconds, text) in [
            (0, "0 s"), (-5, "0 s"), (1_999, "1 s"), (60_000, "1 min"), (90_000, "1 min 30 s"),
            (86_399_999, "23 h 59 min"), (86_400_000, "1 d"), (2_592_000_000, "30 d"),
        ] as [(Int64, String)] { #expect(HumanText.duration(milliseconds: milliseconds) == text) }
        for (number, text) in [
            (0, "0"), (999, "999"), (1_000, "1,000"), (-1_234_567, "-1,234,567"),
        ] { #expect(HumanText.count(number) == text) }
    }

    @Test func whatAStrangerStoredCannotSteerATerminal() {
        #expect(HumanText.line("a\u{1B}[2Jb\nc\u{9B}d\u{202E}e") == "a·[2Jb·c·d·e")
        #expect(HumanText.line("Grüße 🎉") == "Grüße 🎉")
        #expect(HumanText.line("abcdef", characterCountMax: 3) == "abc…")
    }

    @Test func firstBytesTellATypeThatFitsTheName() {
        func text(_ text: String) -> [UInt8] { Array(text.utf8) }
        let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        for (start, mediaType) in [
            ([0xFF, 0xD8, 0xFF, 0xE0], "image/jpeg"), (png, "image/png"),
            (text("GIF89a"), "image/gif"), (text("RIFF1234WEBPVP8 "), "image/webp"),
            (text("RIFF1234WAVEfmt "), "audio/wav"), (text("RIFF1234AVI LIST"), nil),
            (text("0000ftypisom"), "video/mp4"), (text("0000ftypheic"), "image/heic"),
            (text("0000ftypavif"), "image/avif"), (text("0000ftypmif1"), nil),
            (text("0000ftyp"), nil), (text("RIFF"), nil), ([0xFF, 0xD8], nil), ([], nil),
        ] as [([UInt8], String?)] {
            #expect(FileSignature.mediaType(of: start.span.bytes) == mediaType, "\(start)")
        }
        for (name, start, isRight) in [
            ("a.png", png, true), ("a.apng", png, true), ("a.jpg", png, false),
            ("a.mov", text("0000ftypisom"), true), ("a.m4a", text("0000ftypmp42"), true),
            ("a.3gp", text("0000ftyp3gp4"), true), ("a.jpg", text("0000ftypheic"), false),
            ("a.webp", text("RIFF1234WAVE"), false), ("a.txt", text("hello, world"), true),
        ] {
            let note = MediaTypes.note(name, start: start.span.bytes) { $0 }
            #expect((note == nil) == isRight, "\(name): \(note ?? "")")
        }
    }

    @Test func onlyWholeWordsAreCut() {
        for (line, width, text) in [
            ("one two", 7, "one two"), ("one two", 6, "one"), ("one two", 3, "one"),
            ("one two", 4, "one"), ("2,275", 3, "2,2"), ("a  2,275 x", 8, "a  2,275"),
        ] { #expect(HumanText.cut(line, to: width) == text, "\(line) \(width)") }
        #expect(HumanText.wrapped("one two three", to: 7) == "one two\n  three")
        #expect(HumanText.wrapped("onetwothree", to: 7) == "onetwothree")
    }

    @Test func tablesLineUp() {
        var table = TextTable([("ID", .left), ("BYTES", .right), ("OWNER", .left)])
        table.append(["1", "12,000", "ann"])
        table.append(["long", "5", ""])
        #expect(
            table.takeText(withTitles: true) == """
                ID     BYTES  OWNER
                1     12,000  ann
                long       5

                """)
        table.append(["2", "1", "bob"])
        #expect(table.takeText(withTitles: false) == "2          1  bob\n")
    }

    @Test func oneIsNotMany() {
        #expect(HumanText.count(0, of: "problem") == "0 problems")
        #expect(HumanText.count(1, of: "problem") == "1 problem")
        #expect(HumanText.count(1_200, of: "check") == "1,200 checks")
    }
}

/// Parts and batches on the command line.
@Suite struct NotificationTextTests {
    @Test func partsAreFilesOrDigests() throws {
        let digest = "sha256:" + String(repeating: "0a", count: 32)
        for (text, name, source) in [
            ("a=b", "a", PartText.Source.file("b", mediaType: nil)),
            ("a=b=c", "a", .file("b=c", mediaType: nil)),
            ("a=b:image/png", "a", .file("b", mediaType: "image/png")),
            (
                "a=/c:d/b:text/plain; charset=utf-8", "a",
                .file("/c:d/b", mediaType: "text/plain; charset=utf-8")
            ),
            ("a=b:c", "a", .file("b:c", mediaType: nil)),
            ("a=sha256:0a", "a", .file("sha256:0a", mediaType: nil)),
            ("a=" + digest, "a", .stored(try #require(PayloadDigest(digest)))),
        ] {
            let part = PartText(argument: text)
            #expect(part?.name == name, "\(text)")
            #expect(part?.source == source, "\(text)")
        }
    }

    @Test func filesOfPartsComplete() throws {
        let folder = TemporaryFolder()
        for name in ["photo.jpg", "photo.png", "other", ".hidden"] { try folder.write(name, []) }
        for (typed, names) in [
            ("a=\(folder)/ph", ["photo.jpg", "photo.png"]), ("a=\(folder)/.h", [".hidden"]),
            ("a=\(folder)/", ["other", "photo.jpg", "photo.png"]), ("a=\(folder)/x", []),
            ("a=/nonexistent/x", []), ("a", []),
        ] {
            #expect(
                PartText.completions(of: typed) == names.map { "a=\(folder)/\($0)" }, "\(typed)")
        }
    }

    @Test(arguments: ["", "a", "a=", "=b", "a=:image/png"])
    func everythingElseIsNoPart(text: String) {
        #expect(PartText(argument: text) == nil)
    }

    @Test func batchesAreCutIntoCalls() {
        let lines = BatchFile(
            Array(("{}\n\n \r\n" + String(repeating: "{}\n", count: 1_500)).utf8))
        #expect(lines.calls.map(\.lineNumbers.count) == [1_000, 501])
        #expect(lines.calls.first?.lineNumbers.prefix(2) == [1, 4])
        #expect(lines.calls.last?.lineNumbers.last == 1_503)
        let long = [UInt8](repeating: 0x78, count: 5 << 20)
        let two = BatchFile(long + [0x0A] + long)
        #expect(two.calls.map(\.bytes.count) == [long.count + 1, long.count + 1])
        #expect(BatchFile([]).calls.isEmpty)
    }
}
