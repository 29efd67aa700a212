import Foundation
import TestSupport
import Testing

/// `blobd serve --check-config`: what a start and a reload would refuse is refused, and nothing is touched.
@Suite(.waiting) struct CheckConfigTests {
    private static func check(
        _ yaml: String, _ arguments: [String] = [], _ environment: [String: String] = [:]
    ) throws -> (status: Int32, output: String, errors: String, folder: TemporaryFolder) {
        let folder = TemporaryFolder()
        let text = yaml.replacing("FOLDER", with: folder.path)
        let file = try folder.write("blobd.yaml", Array(text.utf8))
        let (end, output, errors) = try run(
            [DaemonProcess.program, "serve", "--config", file, "--check-config"] + arguments,
            environment: environment)
        return (end.code, String(decoding: output, as: UTF8.self), errors, folder)
    }

    @Test("A good configuration is one line, and no store and no socket are made")
    func good() throws {
        let found = try Self.check(
            "data: FOLDER/data\nmax-payload: 10MB\n", ["--spin", "0"],
            ["BLOBD_SOCKET": "/nonexistent/s", "BLOBD_UNRELATED_WORDS": "1"])
        #expect(found.status == 0)
        #expect(found.output == "\(found.folder.path)/blobd.yaml: the configuration is good\n")
        #expect(
            found.errors
                == "blobd: BLOBD_UNRELATED_WORDS is not a setting's variable; it changes nothing\n")
        #expect(found.folder.names == ["blobd.yaml"])
    }

    @Test("Under a socket unit a reload's check has no socket: it says so")
    func noSocket() throws {
        let found = try Self.check("data: /d\n")
        #expect(found.status == 0, "\(found.errors)")
        #expect(found.output.contains("is good; it names no socket: systemd has to pass one"))
    }

    @Test("systemd gives a reload's check no credentials: keys that are one are not read")
    func credential() throws {
        let yaml = "data: /d\nsocket: /s\nsigning-keys: $CREDENTIALS_DIRECTORY/signing-keys\n"
        for environment in [[:], ["CREDENTIALS_DIRECTORY": "/nonexistent"]] {
            let found = try Self.check(yaml, [], environment)
            #expect(found.status == 0, "\(found.errors)")
        }
    }

    @Test(
        "What a start or a reload refuses is exit code 2, with its line",
        arguments: [
            ("data: /d\nmax-paylod: 1\n", "blobd.yaml:2: max-paylod is not a setting"),
            ("data: /d\nmax-payload: x\n", "blobd.yaml:2: max-payload is x; it must be a size"),
            ("data: \"/d\n", "unexpected end of stream"),
            ("max-payload: 1\n", "--data is missing"),
            ("data: /d\ndefault-ttl: 60d\n", "it must be at most max-ttl"),
            ("data: /d\nlink-base: https://a\n", "give --signing-keys, too"),
            ("data: /d\nsigning-keys: /nonexistent\n", "/nonexistent: No such file"),
            ("data: /d\nsigning-keys: FOLDER/blobd.yaml\n", "others must not read it"),
            ("", "is empty"),
        ])
    func mistakes(yaml: String, words: String) throws {
        let found = try Self.check(yaml)
        #expect(found.status == 2)
        #expect(found.output.isEmpty)
        #expect(found.errors.hasPrefix("blobd: "))
        #expect(found.errors.contains(words), "\(found.errors)")
    }

    @Test("A flag or a variable with a mistake is refused, too")
    func otherSources() throws {
        let flag = try Self.check("data: /d\n", ["--max-payload", "x"])
        #expect(flag.status == 2 && flag.errors.contains("--max-payload is x"))
        let variable = try Self.check("data: /d\n", [], ["BLOBD_MAX_PAYLOAD": "x"])
        #expect(variable.status == 2 && variable.errors.contains("BLOBD_MAX_PAYLOAD is x"))
        #expect(try Self.check("data: /d\n", ["--print-config"]).status == 2)
    }
}
