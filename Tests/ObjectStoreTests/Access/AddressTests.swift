import ObjectStore
import TestSupport
import Testing

/// Addresses of buckets, endpoints, and what the environment says.
@Suite struct AddressTests {
    @Test("An address has a bucket and a prefix; a slash at its end is left out")
    func addresses() throws {
        for (text, bucket, prefix) in [
            ("s3://abc", "abc", ""), ("s3://abc/", "abc", ""), ("s3://abc/p", "abc", "p"),
            ("s3://abc/p/", "abc", "p"),
            ("s3://my.bucket-1/a/b c/é+%20?#", "my.bucket-1", "a/b c/é+%20?#"),
        ] {
            let url = try ObjectStoreURL(text)
            #expect(url.bucket == bucket && url.prefix == prefix, "\(text)")
            #expect("\(try ObjectStoreURL("\(url)"))" == "\(url)")
        }
    }

    @Test(
        "An address that cannot be used is refused by name",
        arguments: [
            ("http://abc/p", "must be s3://bucket/prefix"), ("", "must be s3://"),
            ("s3://ab/p", "3 to 63"), ("s3:///p", "is 0 characters"),
            ("s3://\(String(repeating: "a", count: 64))", "is 64 characters"),
            ("s3://Abc", "lower-case"), ("s3://a_c", "lower-case"), ("s3://-abc", "begin and end"),
            ("s3://abc.", "begin and end"), ("s3://a..c", "two consecutive dots"),
            ("s3://10.0.0.1", "IP address"),
            ("s3://abc//p", "empty segment"), ("s3://abc/p//", "empty segment"),
            ("s3://abc/p//q", "empty segment"), ("s3://abc//", "empty segment"),
            ("s3://abc/../q", "\"..\""), ("s3://abc/p/.", "\".\""), ("s3://abc/a\u{7}b", "U+0007"),
            ("s3://abc/\(String(repeating: "a", count: 513))", "513 bytes long; the limit is 512"),
        ])
    func refusals(text: String, words: String) throws {
        let error = try #require(throws: ObjectStoreError.self) { try ObjectStoreURL(text) }
        #expect(error.kind == .invalidAddress && "\(error)".contains(words), "\(error)")
    }

    @Test("An endpoint is a scheme, a host, a port and a path")
    func endpoints() throws {
        for (text, expected) in [
            ("https://S3.Example.com", "https://s3.example.com"),
            ("https://s3.example.com:443/", "https://s3.example.com"),
            ("http://localhost:80", "http://localhost"), ("http://[::1]:9000", "http://[::1]:9000"),
            ("https://example.com/storage/v1/s3/", "https://example.com/storage/v1/s3"),
            ("https://example.com:80", "https://example.com:80"),
        ] {
            #expect("\(try Endpoint(text))" == expected, "\(text)")
        }
        for text in [
            "", "s3.example.com", "ftp://a", "https://", "https://a:b", "https://a:0",
            "https://a:65536",
            "https://u:p@a", "https://a?b", "https://a#b", "https://a b", "https://ü",
            "https://a//b",
            "https://a/../b", "https://a:1:2", "https://:80", "https://a:+80",
        ] {
            let error = #expect(throws: ObjectStoreError.self, "\(text)") { try Endpoint(text) }
            #expect(error?.kind == .invalidAddress)
        }
    }

    @Test("Endpoint and region are read as SDKs read them")
    func environment() throws {
        let keys = ["AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"]
        func access(_ variables: [String: String]) throws -> String {
            let access = try ObjectStoreAccess(ProcessEnvironment(variables.merging(keys) { $1 }))
            return "\(access.endpoint) \(access.region)"
        }
        #expect(try access([:]) == "https://s3.us-east-1.amazonaws.com us-east-1")
        #expect(
            try access(["AWS_DEFAULT_REGION": "eu-north-1"])
                == "https://s3.eu-north-1.amazonaws.com eu-north-1")
        #expect(
            try access([
                "AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-north-1",
                "AWS_ENDPOINT_URL": "http://a", "AWS_ENDPOINT_URL_S3": "",
            ]) == "http://a eu-west-1")
        #expect(
            try access(["AWS_ENDPOINT_URL": "http://a", "AWS_ENDPOINT_URL_S3": "http://b"])
                == "http://b us-east-1")
        for region in ["EU", "a/b", "a b", "a\r\nb"] {
            let error = #expect(throws: ObjectStoreError.self) {
                try access(["AWS_REGION": region])
            }
            #expect(error.map { "\($0)".hasPrefix("AWS_REGION is \"") } == true)
        }
    }
}
