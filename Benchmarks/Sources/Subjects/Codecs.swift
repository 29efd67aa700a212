import BlobJSON
import BlobProtocol
import CSubjects

// Bytes to messages and back, on both dialects' way of a fetch; and JSON.

extension Subjects {
    private static let request = Array(
        """
        GET /v1/notifications/notification-1000042/payload HTTP/1.1\r
        Host: localhost\r
        User-Agent: curl/7.88.1\r
        Accept: */*\r
        \r

        """.utf8)

    private static let proxied = Array(
        """
        GET /v1/notifications/notification-1000042/payload HTTP/1.1\r
        Host: push.example.com\r
        X-Real-IP: 203.0.113.7\r
        X-Forwarded-For: 203.0.113.7\r
        Accept: image/webp,image/png;q=0.8,*/*;q=0.5\r
        Accept-Encoding: gzip, deflate, br\r
        Accept-Language: en-GB,en;q=0.9\r
        If-None-Match: "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"\r
        User-Agent: Push/4.2 (iPhone; iOS 19.1; Scale/3.00)\r
        \r

        """.utf8)

    /// What devices ask through a proxy, each with fields of its own.
    private static let devices = [
        Array(
            """
            GET /api/notifications/notification-1000042 HTTP/1.1\r
            Host: push.example.com\r
            X-Real-IP: 203.0.113.7\r
            X-Forwarded-For: 203.0.113.7\r
            X-Forwarded-Proto: https\r
            X-Forwarded-Host: push.example.com\r
            X-Request-ID: 6f1c1a1e0c9b4f7fa2b7e58c1d3a9b55\r
            Connection: keep-alive\r
            Accept: image/webp,image/png;q=0.8,*/*;q=0.5\r
            Accept-Encoding: gzip, deflate, br\r
            Accept-Language: en-GB,en;q=0.9\r
            User-Agent: Push/4.2 (iPhone; iOS 19.1; Scale/3.00)\r
            Priority: u=3, i\r
            Authorization: Bearer 0123456789abcdef0123456789abcdef\r
            \r

            """.utf8),
        Array(
            """
            GET /api/notifications/notification-1000042 HTTP/1.1\r
            host: push.example.com:8443\r
            x-forwarded-for: 198.51.100.23, 10.0.0.4\r
            x-forwarded-proto: https\r
            x-forwarded-port: 443\r
            via: 2.0 edge-7\r
            user-agent: okhttp/4.12.0\r
            accept: image/*\r
            accept-encoding: gzip\r
            authorization: Bearer 0123456789abcdef0123456789abcdef\r
            traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r
            x-app-version: 4.2.1 (1042)\r
            cache-control: no-cache\r
            \r

            """.utf8),
    ]

    static var codecs: [Subject] {
        [
            Subject("memchr for a head's end, in C") {
                { count in
                    for _ in 0..<count {
                        let end = request.withUnsafeBytes {
                            c_find_head_end($0.baseAddress, $0.count)
                        }
                        guard end == request.count else { throw SubjectFailure(reason: "end") }
                    }
                }
            },
            Subject("HTTP request head of curl") { { try parse([request], $0) } },
            Subject("HTTP request head behind nginx") { { try parse([proxied], $0) } },
            Subject("HTTP request heads of two devices") { { try parse(devices, $0) } },
            Subject("HTTP head of a payload") {
                let digest = [UInt8](repeating: 9, count: 32)
                let type = Array("image/png".utf8)
                return { count in
                    var head = PayloadHead()
                    head.setDate(seconds: 1_800_000_000)
                    var fields = PayloadHead.Fields(status: 200)
                    var out: [UInt8] = []
                    for step in 0..<count {
                        out.removeAll(keepingCapacity: true)
                        fields.byteCount = UInt64(step)
                        head.append(
                            fields, mediaType: type.span.bytes, digest: digest.span.bytes,
                            into: &out)
                        use(UInt64(out.count))
                    }
                }
            },
            Subject("HTTP response head") {
                let tag = Array("\"sha256:\(String(repeating: "a", count: 64))\"".utf8)
                let type = Array("image/png".utf8)
                return { count in
                    var out: [UInt8] = []
                    for step in 0..<count {
                        out.removeAll(keepingCapacity: true)
                        HTTPResponseHead.begin(200, into: &out)
                        HTTPResponseHead.field("Content-Type", type.span.bytes, into: &out)
                        HTTPResponseHead.field("Content-Length", UInt64(step), into: &out)
                        HTTPResponseHead.field("ETag", tag.span.bytes, into: &out)
                        HTTPResponseHead.field("Accept-Ranges", "bytes", into: &out)
                        HTTPResponseHead.date(seconds: 1_800_000_000, into: &out)
                        out += "\r\n".utf8
                        use(UInt64(out.count))
                    }
                }
            },
            Subject("binary get: frame and head read") {
                var composed: [UInt8] = []
                try RequestFrame.compose(.get, requestID: 7, into: &composed) {
                    (out) throws(ProtocolError) in
                    try Get.Request.compose(id: "notification-1000042", into: &out)
                }
                let bytes = composed
                return { count in
                    for _ in 0..<count {
                        guard let frame = try RequestFrame.parse(bytes.span.bytes) else {
                            throw SubjectFailure(reason: "half a frame")
                        }
                        let head = bytes.span.bytes.extracting(droppingFirst: 24)
                        let get = try Get.Request.parse(head, flags: frame.flags)
                        use(UInt64(get.id.count))
                    }
                }
            },
            Subject("binary get: answer written") {
                let digest = [UInt8](repeating: 9, count: 32)
                let type = Array("image/png".utf8)
                let asked = RequestFrame(.get, requestID: 7, headByteCount: 44, bodyByteCount: 0)
                return { count in
                    var out: [UInt8] = []
                    for step in 0..<count {
                        out.removeAll(keepingCapacity: true)
                        ResponseFrame(
                            answering: asked, status: 0, headByteCount: 89, bodyByteCount: 1_024
                        ).compose(into: &out)
                        Get.Response(
                            byteCount: 1_024, expiryMilliseconds: 1_800_000_000_000,
                            revision: UInt64(step), createdMilliseconds: 1_700_000_000_000,
                            coding: .identity
                        ).compose(digest: digest.span.bytes, mediaType: type.span.bytes, into: &out)
                        use(UInt64(out.count))
                    }
                }
            },
            Subject("JSON of 2 KiB: read") {
                let bytes = document
                return { count in
                    for _ in 0..<count {
                        guard case .object = try JSONValue.parse(bytes.span.bytes) else {
                            throw SubjectFailure(reason: "no object")
                        }
                    }
                }
            },
            Subject("JSON of 2 KiB: written") {
                let value = try JSONValue.parse(document.span.bytes)
                return { count in
                    var out: [UInt8] = []
                    for _ in 0..<count {
                        out.removeAll(keepingCapacity: true)
                        value.append(to: &out)
                        use(UInt64(out.count))
                    }
                }
            },
        ]
    }

    /// A notification's document of about 2 KiB.
    private static let document: [UInt8] = {
        let actions = (0..<3).map {
            #"{"identifier":"action-\#($0)","title":"Do the thing \#($0)","foreground":true}"#
        }
        let items = (0..<20).map {
            #"{"sku":"item-\#($0)","price":\#($0).95,"tags":["new","caf\u00e9",null],"left":\#($0)}"#
        }
        let text =
            #"{"owner":"user-1","message":"The autumn collection is here\n","rich_type":"image","#
            + #""actions":[\#(actions.joined(separator: ","))],"display_ttl":3600,"#
            + #""data":{"items":[\#(items.joined(separator: ","))]}}"#
        return Array(text.utf8)
    }()

    private static func parse(_ heads: [[UInt8]], _ count: Int) throws {
        for step in 0..<count {
            let text = heads[step % heads.count]
            let bytes = text.span.bytes
            guard let (head, consumed) = try HTTPRequestHead.parse(bytes) else {
                throw SubjectFailure(reason: "half a head")
            }
            let payload = PayloadPath.parse(head.path.of(bytes))
            guard consumed == bytes.byteCount, payload != nil, head.method == .get else {
                throw SubjectFailure(reason: "another head")
            }
        }
    }
}
