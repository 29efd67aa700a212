import TestSupport
import Testing

@testable import ObjectStore

/// Keys in the environment and in files, and when they are read again.
@Suite struct LocalSourceTests {
    private static func credentials(_ variables: [String: String]) throws -> Credentials {
        try provider(variables).get(stop: StopSignal())
    }

    @Test("The environment comes first, then the file that it names, then that of the home folder")
    func order() throws {
        let folder = TemporaryFolder()
        let file = try folder.write(
            "credentials",
            Array(
                """
                # one that is not in use
                [ default ]
                aws_access_key_id=fileid
                aws_secret_access_key = file=secret==\r
                ; a comment
                [other]
                \tAWS_ACCESS_KEY_ID = otherid
                aws_secret_access_key = othersecret
                aws_session_token = othertoken
                region = nowhere
                [unfinished
                aws_access_key_id = no
                """.utf8))
        let fromFile = try Self.credentials(["AWS_SHARED_CREDENTIALS_FILE": file])
        #expect(fromFile.accessKeyID == "fileid")
        #expect(fromFile.secretAccessKey == "file=secret==")
        #expect(fromFile.sessionToken == nil)
        let other = try Self.credentials([
            "AWS_SHARED_CREDENTIALS_FILE": file, "AWS_PROFILE": "other",
        ])
        #expect(other.accessKeyID == "otherid" && other.sessionToken == "othertoken")
        let own = try Self.credentials([
            "AWS_SHARED_CREDENTIALS_FILE": file, "AWS_ACCESS_KEY_ID": "envid",
            "AWS_SECRET_ACCESS_KEY": "envsecret", "AWS_SESSION_TOKEN": "envtoken",
        ])
        #expect(own.accessKeyID == "envid" && own.sessionToken == "envtoken")
        #expect(try run(["mkdir", folder.path(".aws")]).end == .exited(0))
        try folder.write(
            ".aws/credentials",
            Array("[default]\naws_access_key_id=homeid\naws_secret_access_key=s\n".utf8))
        #expect(try Self.credentials(["HOME": folder.path]).accessKeyID == "homeid")
        // The other file, whose profiles are named otherwise; what both have is the first one's.
        try folder.write(
            ".aws/config",
            Array(
                """
                [profile  configured ]
                aws_access_key_id = configid
                aws_secret_access_key = s
                s3 =
                  addressing_style = path
                [profile default]
                aws_access_key_id = none
                """.utf8))
        let configured = ["HOME": folder.path, "AWS_PROFILE": "configured"]
        #expect(
            try "\(Self.credentials(configured))"
                == "access key configid of \(folder)/.aws/config [configured]")
        #expect(try Self.credentials(["HOME": folder.path]).accessKeyID == "homeid")
    }

    @Test("What is missing is named, and no secret ever is")
    func refusals() throws {
        let folder = TemporaryFolder()
        let file = try folder.write("c", Array("[default]\naws_access_key_id = x\n".utf8))
        let large = try folder.write("l", [UInt8](repeating: 0x20, count: 65_537))
        for (variables, words) in [
            (["AWS_EC2_METADATA_DISABLED": "True"], "Set up one of them"),
            (["AWS_ACCESS_KEY_ID": "a"], "only one of"),
            (["AWS_SECRET_ACCESS_KEY": "a"], "only one of"),
            (["AWS_SHARED_CREDENTIALS_FILE": "/no/file"], "No such file"),
            (["AWS_SHARED_CREDENTIALS_FILE": file], "lacks aws_access_key_id or"),
            (["AWS_SHARED_CREDENTIALS_FILE": file, "AWS_PROFILE": "p"], "no profile [p]"),
            (["HOME": folder.path, "AWS_PROFILE": "p"], "AWS_PROFILE names a profile that no"),
            (["AWS_CONFIG_FILE": "/no/file"], "files: /no/file: No such file"),
            (["AWS_SHARED_CREDENTIALS_FILE": large], "longer than 65536 bytes"),
            (
                ["AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "geheim\r\nx: y"],
                "blanks, control"
            ),
        ] {
            let error = try #require(throws: ObjectStoreError.self) { try provider(variables) }
            #expect(error.kind == .noCredentials && "\(error)".contains(words), "\(error)")
            #expect(!"\(error)".contains("geheim"))
        }
        let credentials = Credentials(
            accessKeyID: "id", secretAccessKey: "geheim", sessionToken: "zeichen", source: "here")
        var dumped = ""
        dump(credentials, to: &dumped)
        for text in ["\(credentials)", String(reflecting: credentials), dumped] {
            #expect(!text.contains("geheim") && !text.contains("zeichen"), "\(text)")
        }
    }

    @Test("Refused credentials are read again; those that cannot be read stay")
    func rotation() throws {
        let folder = TemporaryFolder()
        func write(_ id: String) throws -> String {
            try folder.write(
                "c", Array("[default]\naws_access_key_id=\(id)\naws_secret_access_key=s\n".utf8))
        }
        let provider = try provider(["AWS_SHARED_CREDENTIALS_FILE": try write("one")])
        let stop = StopSignal()
        func renew(_ refused: Credentials) -> String? {
            provider.renew(insteadOf: refused, stop: stop)?.accessKeyID
        }
        let first = try provider.get(stop: stop)
        #expect(renew(first) == nil)
        _ = try write("two")
        #expect(renew(first) == "two")
        // Another client, which was refused with the first ones, gets them without another look.
        Files.remove(folder.path("c"))
        #expect(renew(first) == "two")
        #expect(renew(try provider.get(stop: stop)) == nil)
        #expect(try provider.get(stop: stop).accessKeyID == "two")
        #expect(provider.remedy.hasSuffix("/c: No such file or directory"), "\(provider.remedy)")
        // While the file is being written, say.
        try folder.write("c", [])
        #expect(renew(try provider.get(stop: stop)) == nil)
        #expect(try provider.get(stop: stop).accessKeyID == "two")
        _ = try write("three")
        #expect(renew(try provider.get(stop: stop)) == "three")
    }
}
