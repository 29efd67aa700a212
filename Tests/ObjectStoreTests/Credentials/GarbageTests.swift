import TestSupport
import Testing

@testable import ObjectStore

/// Sources that give anything but credentials.
@Suite struct GarbageTests {
    @Test(
        "Answers that are no credentials are refused, and never repeated",
        arguments: StandIn.allCases)
    func garbage(source: StandIn) throws {
        let good = source.document(IssuedKey(id: "KEY", endsAt: 60))
        let version = source == .process ? #""Version":1,"# : ""
        let bodies = [
            "", "geheim", "{", "[]", "null", "{}", "<a>geheim</a>", "{\"geheim\":1,\"geheim\":2}",
            good.replacing("KEY", with: ""), good.replacing("AccessKeyId", with: "x"),
            good.replacing("SecretAccessKey", with: "x"),
            good.replacing("2026-12-01", with: "2026-13-01"),
            good.replacing("2026-12-01", with: "soon"),
            good.replacing("geheim", with: "geheim\u{7}"),
            good.replacing("geheim", with: "ge heim"),
            good.replacing("KEY", with: "K\u{E9}Y"), String(good.dropLast(2)),
            good + String(repeating: " ", count: 65_537),
            #"{\#(version)"AccessKeyId":1,"SecretAccessKey":"geheim"}"#,
            #"{\#(version)"Code":"Failed","Message":"no\nrole","AccessKeyId":"a","SecretAccessKey":"geheim"}"#,
            #"{\#(version)"AccessKeyId":"a","SecretAccessKey":"geheim\r\nx: y"}"#,
            String(repeating: "[", count: 60_000),
        ]
        for body in bodies {
            let (server, variables, folder) = try source.start(body)
            defer { withExtendedLifetime((server, folder)) {} }
            let provider = try provider(variables)
            let error = #expect(throws: ObjectStoreError.self, "\(body.prefix(200))") {
                try provider.get(stop: StopSignal())
            }
            #expect(error?.kind == .noCredentials, "\(body.prefix(200))")
            #expect(error.map { "\($0)".contains("geheim") } == false, "\(error as Any)")
        }
    }

    @Test("The program's document has the version 1")
    func version() throws {
        for version in ["", #""Version":2,"#, #""Version":"1","#, #""Version":null,"#] {
            let folder = TemporaryFolder()
            let document = IssuedKey(id: "K").document("SessionToken", more: version)
            try folder.write("printed", Array(document.utf8))
            let error = try #require(throws: ObjectStoreError.self) {
                try provider(try StandIn.process.variables("", folder)).get(stop: StopSignal())
            }
            #expect("\(error)".contains("cat: its output is not of \"Version\": 1"), "\(error)")
        }
    }

    @Test("Instance metadata's token and role are words that can stand in a request")
    func words() throws {
        for (token, role) in [
            ("", "r"), ("a b", "r"), (String(repeating: "t", count: 1_025), "r"), ("t", ""),
            ("t", "a/b"), ("t", ".."), ("t", "a?b"), ("t", "<html>"), ("t", "a%2e"),
        ] {
            let server = try ScriptedServer { request in
                switch request.number {
                case 0: [.answer(200, body: token)]
                case 1: [.answer(200, body: role)]
                default: [.answer(200, body: StandIn.instance.document(IssuedKey(id: "K")))]
                }
            }
            let error = try #require(throws: ObjectStoreError.self) {
                try provider(["AWS_EC2_METADATA_SERVICE_ENDPOINT": server.url])
                    .get(stop: StopSignal())
            }
            #expect("\(error)".contains("the answer is no "), "\(error)")
            #expect(server.requestCount < 3)
        }
    }

    @Test("Documents that were changed give credentials that can be signed with, or none")
    func changed() throws {
        let seed = testSeed(29)
        var random = SeededGenerator(seed: seed)
        let key = IssuedKey(id: "KEY", endsAt: 60)
        let document = Array(key.document("Token", more: #""Code":"Success","#).utf8)
        let files = Array(
            "[profile a]\nx = 'y\" \\ z'\n#c\n[default]\n aws_access_key_id = 1\n".utf8)
        func change(_ bytes: [UInt8]) -> [UInt8] {
            var bytes = bytes
            for _ in 0...random.below(4) {
                switch random.below(3) {
                case 0: bytes[random.below(bytes.count)] = UInt8(random.below(256))
                case 1: bytes.remove(at: random.below(bytes.count))
                default: bytes.insert(UInt8(random.below(128)), at: random.below(bytes.count))
                }
            }
            return bytes
        }
        var (read, refused, split) = (0, 0, 0)
        for _ in 0..<testRounds(4_000) {
            do throws(ObjectStoreError) {
                let value = try CredentialsDocument.parse(change(document), of: "here")
                let credentials = try CredentialsDocument.credentials(
                    of: "s", at: "here", value, token: "Token")
                #expect(!credentials.accessKeyID.isEmpty && !credentials.secretAccessKey.isEmpty)
                read += 1
            } catch { refused += 1 }
            let text = String(decoding: change(files), as: UTF8.self)
            for section in ProfileFile.parse(text).values {
                #expect(section.values.allSatisfy { !$0.isEmpty })
            }
            if let words = CommandWords.split(text) {
                #expect(!words.isEmpty && !words[0].isEmpty)
                split += 1
            }
        }
        print("GarbageTests.changed seed \(seed): \(read) read, \(refused) refused, \(split) split")
        #expect(read > 100 && refused > 100 && split > 100)
    }

    @Test("A command is split into words, and nothing else that a shell does")
    func commands() {
        for (line, words) in [
            ("a", ["a"]), (" a  b\tc ", ["a", "b", "c"]), (#""a b" 'c d'"#, ["a b", "c d"]),
            (#"/x/a\ b "c\"d" "e\f" 'g\h'"#, ["/x/a b", #"c"d"#, #"e\f"#, #"g\h"#]),
            (#"a"b c"'d'"#, ["ab cd"]), ("a '' \"\"", ["a", "", ""]),
            (
                "a $HOME ~ `b` $(c) | d ; e > f & *",
                ["a", "$HOME", "~", "`b`", "$(c)", "|", "d", ";", "e", ">", "f", "&", "*"]
            ),
            ("'", nil), ("\"a", nil), ("a\\", nil), ("", nil), ("  ", nil), ("''", nil),
            ("a\0b", nil),
            ("\"\\\0\"", nil),
        ] as [(String, [String]?)] {
            #expect(CommandWords.split(line) == words, "\(line)")
        }
    }

    @Test("Loopback is what is written so")
    func loopback() {
        for host in ["localhost", "127.0.0.1", "127.255.0.9", "::1", "0:0:0:0:0:0:0:1"] {
            #expect(HostAddress.isLoopback(host), "\(host)")
        }
        for host in [
            "", "localhost.", "128.0.0.1", "127.1", "0x7f.0.0.1", "127.0.0.1.x", "::2",
            "::ffff:127.0.0.1",
            "169.254.170.2", "[::1]",
        ] { #expect(!HostAddress.isLoopback(host), "\(host)") }
        for host in ["169.254.170.2", "169.254.170.23", "fd00:ec2::23", "FD00:EC2:0::23"] {
            #expect(HostAddress.isContainerAgent(host), "\(host)")
        }
        for host in ["", "169.254.170.3", "fd00:ec2::24", "169.254.170.2.x"] {
            #expect(!HostAddress.isContainerAgent(host), "\(host)")
        }
    }
}
