import Foundation
import TestSupport
import Testing

/// `blobd probe`, and when libcurl is loaded.
@Suite(.waiting) struct ProbeCommandTests {
    /// Runs the command with these variables and no others of AWS's.
    private static func probe(
        _ arguments: [String], _ environment: [String: String]
    ) throws -> (status: Int32, output: String, errors: String) {
        let keys = [
            "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "geheim", "AWS_REGION": "us-east-1",
        ]
        let (end, output, errors) = try run(
            [DaemonProcess.program, "probe"] + arguments,
            environment: keys.merging(environment) { $1 })
        return (end.code, String(decoding: output, as: UTF8.self), errors)
    }

    @Test(
        "A bucket that can be used", .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
    func usable() throws {
        let variables = try ObjectServer.shared(.moto).variables
        let text = try Self.probe(["s3://test/probed"], variables)
        #expect(text.status == 0 && text.errors == "", "\(text)")
        for line in [
            "s3://test/probed at http://127.0.0.1:", "list      ok\n", "write     ok\n",
            "read      ok\n",
            "delete    ok\n", "create    ok: 100 of 100 names had one winner of 32\n",
            "put 4 KiB p50 ",
            "The bucket can be replicated to.\n",
        ] {
            #expect(text.output.contains(line), "\(text.output)")
        }
        #expect(!text.output.contains("testsecret"))
    }

    @Test("A bucket whose server ignores conditions is refused with 1")
    func unusable() throws {
        let objects = StoredObjects()
        let server = try ScriptedServer { objects.answer($0) }
        for json in [[], ["--json"]] {
            let result = try Self.probe(["s3://test"] + json, ["AWS_ENDPOINT_URL": server.url])
            #expect(result.status == 1, "\(result)")
            #expect(result.errors.contains("s3://test cannot be replicated to"))
            guard !json.isEmpty else {
                #expect(result.output.contains("FAILED: 0 of 100"))
                continue
            }
            let members = try #require(
                try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
            #expect(members["can_delete"] as? Bool == true)
            let creates = members["conditional_creates"] as? [String: Any]
            #expect(creates?["one_winner"] as? Int == 0 && creates?["racers"] as? Int == 32)
            #expect((members["put_milliseconds"] as? [String: Any])?["p99"] is Double)
            #expect(result.output.hasSuffix("}\n") && result.output.count { $0 == "\n" } == 1)
        }
        #expect(objects.isEmpty)
    }

    @Test("A bucket whose listings are late is refused with 1")
    func stale() throws {
        let objects = StoredObjects()
        let none = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
        let server = try ScriptedServer { request in
            let isList = request.method == "GET" && request.target.contains("?")
            return isList ? [.answer(200, body: none)] : objects.answer(request) { _ in true }
        }
        let result = try Self.probe(["s3://test"], ["AWS_ENDPOINT_URL": server.url])
        #expect(result.status == 1, "\(result)")
        #expect(result.errors.contains("the object that was just written is not listed"))
    }

    @Test("The first line says where the credentials come from, which no proxy sees")
    func source() throws {
        let objects = StoredObjects()
        let server = try ScriptedServer { objects.answer($0) }
        let metadata = try ScriptedServer { request in
            if request.method == "PUT" { return [.answer(200, body: "token")] }
            let isList = request.target.hasSuffix("/")
            return [
                .answer(
                    200,
                    body: isList
                        ? "blobd-role"
                        : #"{"Code":"Success","AccessKeyId":"ASIA1","SecretAccessKey":"geheim","Token":"zeichen","Expiration":"2086-12-01T00:00:00Z"}"#
                )
            ]
        }
        let result = try Self.probe(
            ["s3://test"],
            [
                "AWS_ENDPOINT_URL": "http://localhost:\(server.port)", "no_proxy": "localhost",
                "http_proxy": "http://127.0.0.1:1", "AWS_ACCESS_KEY_ID": "",
                "AWS_SECRET_ACCESS_KEY": "", "HOME": "/no/home",
                "AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.url, "AWS_EC2_METADATA_DISABLED": "",
            ])
        #expect(
            result.output.contains(
                "region us-east-1, access key ASIA1 of the instance's role blobd-role, with a session token, valid until 2086-12-01T00:00:00.000Z\nlist "
            ), "\(result)")
        #expect(!result.output.contains("geheim") && !result.output.contains("zeichen"))
    }

    @Test("Connections that break in the race are no verdict: 4")
    func broken() throws {
        let objects = StoredObjects()
        let server = try ScriptedServer { request in
            request.headers["if-none-match"] == "*" ? [.close] : objects.answer(request)
        }
        let result = try Self.probe(["s3://test"], ["AWS_ENDPOINT_URL": server.url])
        #expect(result.status == 4, "\(result)")
        #expect(result.errors.contains("conditional creates could not be checked: "))
        #expect(!(result.output + result.errors).contains("honour"))
        #expect(result.output.contains("not checked: 0 of 100 names"))
        #expect(result.output.hasSuffix("The bucket could not be checked.\n"))
    }

    @Test("Exit codes: 1 refused, 2 bad usage, 4 not reachable")
    func exitCodes() throws {
        let denying = try ScriptedServer { _ in [.error(403, "AccessDenied")] }
        let down = try ScriptedServer { _ in [.close] }
        let noKey = [
            "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "HOME": "/no/home",
            "AWS_EC2_METADATA_DISABLED": "true",
        ]
        for (arguments, environment, status, words) in [
            (["s3://test"], ["AWS_ENDPOINT_URL": denying.url], 1, "may not list"),
            (["s3://test", "--json"], ["AWS_ENDPOINT_URL": denying.url], 1, "may not list"),
            (["s3://test"], ["AWS_ENDPOINT_URL": down.url], 4, "no answer"),
            (["s3://test"], ["AWS_ENDPOINT_URL": "http://127.0.0.1:1"], 4, "not reachable"),
            (["http://test"], [:], 2, "must be s3://bucket/prefix"),
            (["s3://test"], ["AWS_ENDPOINT_URL": "nowhere"], 2, "the endpoint \"nowhere\""),
            (["s3://test"], ["AWS_ACCESS_KEY_ID": ""], 2, "only one of"),
            (
                ["s3://test"], noKey, 2,
                "no credentials: environment: AWS_ACCESS_KEY_ID is not set; "
            ),
            (
                ["s3://test"],
                noKey.merging(["AWS_CONTAINER_CREDENTIALS_FULL_URI": down.url]) { $1 }, 4,
                "; container: \(down.url): "
            ),
            ([], [:], 2, "Missing expected argument"),
        ] as [([String], [String: String], Int32, String)] {
            let result = try Self.probe(arguments, environment)
            #expect(result.status == status && result.errors.contains(words), "\(result)")
            #expect(!(result.output + result.errors).contains("geheim"))
        }
    }

    @Test("libcurl is no dependency of the program, and a daemon does not load it")
    func notLoaded() throws {
        let (end, output, errors) = try run(["readelf", "-d", DaemonProcess.program])
        try #require(end == .exited(0), "\(errors)")
        let needed = String(decoding: output, as: UTF8.self)
        #expect(needed.contains("liblmdb") && !needed.contains("curl"))
        let daemon = try DaemonProcess()
        #expect(try daemon.request("GET", "/readyz").status == 200)
        let maps = Files.text("/proc/\(daemon.pid)/maps")
        #expect(maps.contains("liblmdb") && !maps.contains("curl"))
    }

    @Test("Without libcurl the error names the package")
    func missingLibrary() throws {
        let folder = TemporaryFolder()
        // What the loader finds first is no library.
        try folder.write("libcurl.so.4", Array("none".utf8))
        let result = try Self.probe(
            ["s3://test"],
            [
                "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
                "LD_LIBRARY_PATH": "\(folder):\(Self.libraryPath)",
            ])
        #expect(result.status == 1, "\(result)")
        #expect(result.errors.contains("libcurl.so.4 cannot be loaded"))
        #expect(result.errors.contains("apt-get install libcurl4"))
    }

    private static let libraryPath = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"] ?? ""
}
