// The cases, in the language of `Tests/Exchanges`.

extension AcknowledgedReadsTests {
    private static let own = "Authorization: Bearer $token"

    /// Changes of a part, each with a fetch of it: whole, HEAD, a range, and none.
    private static func fetches(_ put: String, _ fetch: String, _ field: String = "") -> [String] {
        let socket = fetch.hasPrefix("[") ? String(fetch.prefix { $0 != "]" }) + "] " : "[http] "
        let path = fetch.drop { $0 != "/" && $0 != "$" }
        func ask(_ method: String, _ more: String) -> String {
            "\(socket)\(method) \(path)  \(field)  \(more)"
        }
        let put = "[http] PUT \(put)?owner=ann"
        return [
            "\(put)  a‹#›  → 2…", ask("GET", "→ 200  =a‹#›"),
            "\(put)  long ‹#›  → 2…", ask("HEAD", "→ 200  Content-Length: 6"),
            "\(put)  d‹#›  → 2…", ask("GET", "Range: bytes=0-0  → 206  =d"),
            "[http] DELETE /v1/notifications/p  → 204", ask("GET", "→ 404 not_found"),
        ]
    }

    private static func both(_ lines: (_ socket: String) -> [String]) -> [String] {
        ["[http]", "[http device]"].flatMap(lines)
    }

    /// Changes of a notification, each with a look at it, which `shows` describes.
    private static func changes(
        _ look: String, gone: String, _ shows: (String) -> String
    ) -> [String] {
        [
            #"PUT /v1/notifications/n  {"owner":"ann","message":"m‹#›"}  → 2…"#,
            "\(look)  → 200  \(shows(#""message":"m‹#›""#))",
            #"PATCH /v1/notifications/n  {"title":"t‹#›"}  → 200"#,
            "\(look)  → 200  \(shows(#""title":"t‹#›""#))",
            #"POST /v1/notifications/n/responses  {"action":"default","key":"k‹#›"}  → 201"#,
            "\(look)  → 200  \(shows(#""key":"k‹#›""#))",
            "DELETE /v1/notifications/n  → 204", "\(look)  → \(gone)",
        ]
    }

    private static let categoryDocument = #"{"actions":[{"identifier":"i‹#›","title":"T"}]}"#
    private static let record = "GET /v1/notifications/n"
    private static let put =
        #"PUT /v1/notifications/n  {"owner":"ann","message":"m‹#›","group":"g"}"#

    static let cases = repeated + written

    private static let repeated: [(row: String, lines: [String])] = [
        ("getPayload", fetches("/v1/notifications/p/payload", "/v1/notifications/p/payload")),
        ("getPart", fetches("/v1/notifications/p/parts/q", "/v1/notifications/p/parts/q")),
        ("getClassicPayload", fetches("/v1/notifications/p/payload", "/api/notifications/p")),
        (
            "linkedPayload",
            fetches("/v1/notifications/p/payload", "[http] $link")
                + fetches("/v1/notifications/p/payload", "[http device] $link")
        ),
        (
            "linkedPart",
            fetches("/v1/notifications/p/parts/q", "[http] $partlink")
                + fetches("/v1/notifications/p/parts/q", "[http device] $partlink")
        ),
        (
            "ownPayload",
            fetches("/v1/notifications/p/payload", "[http] /d/me/notifications/p/payload", own)
                + fetches(
                    "/v1/notifications/p/payload", "[http device] /d/me/notifications/p/payload",
                    own)
        ),
        (
            "ownPart",
            fetches("/v1/notifications/p/parts/q", "[http] /d/me/notifications/p/parts/q", own)
                + fetches(
                    "/v1/notifications/p/parts/q", "[http device] /d/me/notifications/p/parts/q",
                    own)
        ),
        ("notification", changes(record, gone: "404 not_found") { "~\($0)" }),
        (
            "list",
            changes("[call] GET /v1/notifications", gone: #"200  !"id":"n""#) { "~\($0)" }
        ),
        (
            "history",
            changes(
                "GET /v1/users/ann/notifications", gone: #"200  !"id":"n""#
            ) { "~\($0)" }
                + [
                    "\(put)  → 201", "DELETE /v1/notifications/n  → 204",
                    #"GET /v1/users/ann/notifications?status=deleted  → 200  ~"id":"n""#,
                ]
        ),
        (
            "changes",
            changes(
                "GET /v1/users/ann/changes?since=0", gone: #"200  !"id":"n","revision""#
            ) { "~\($0)" } + [
                #"PUT /v1/notifications/w‹#›  {"owner":"w‹#›","message":"m"}  → 2…"#,
                "[w‹#›] FOLLOW /v1/users/w‹#›/changes?since=0  → told published w‹#›",
            ]
        ),
        (
            "linkedChanges",
            both {
                changes(
                    "\($0) GET $feedlink&since=0", gone: #"200  !"id":"n","revision""#
                ) { "~\($0)" }
            }
        ),
        (
            "ownHistory",
            both {
                changes("\($0) GET /d/me/notifications  \(own)", gone: #"200  !"id":"n""#) {
                    "~\($0)"
                }
            }
        ),
        (
            "ownNotification",
            both {
                changes("\($0) GET /d/me/notifications/n  \(own)", gone: "404 not_found") {
                    "~\($0)"
                }
            }
        ),
        (
            "ownChanges",
            both {
                changes(
                    "\($0) GET /d/me/changes?since=0  \(own)", gone: #"200  !"id":"n","revision""#
                ) { "~\($0)" }
            }
        ),
        (
            "patchOwn",
            both {
                [
                    "[http] \(put)  → 2…",
                    #"\#($0) PATCH /d/me/notifications/n  \#(own)  {"read":true}  → 200"#,
                    "[http] \(record)  → 200  read=true",
                ]
            }
        ),
        (
            "respondToOwn",
            both {
                [
                    "[http] \(put)  → 2…",
                    #"\#($0) POST /d/me/notifications/n/responses  \#(own)  {"action":"default"}  → 201"#,
                    "[http] \(record)  → 200  ~\"action\":\"default\"",
                ]
            }
        ),
        (
            "ownCategory",
            both {
                [
                    "[http] PUT /v1/categories/k  \(categoryDocument)  → 2…",
                    #"[http] PUT /v1/notifications/n  {"owner":"ann","message":"m","category":"k"}  → 2…"#,
                    "\($0) GET /d/me/notifications/n/category  \(own)  → 200  ~i‹#›",
                    #"[http] PUT /v1/categories/k  {"actions":[]}  → 200"#,
                    "\($0) GET /d/me/notifications/n/category  \(own)  → 200  !i‹#›",
                    "[http] DELETE /v1/notifications/n  → 204",
                    "\($0) GET /d/me/notifications/n/category  \(own)  → 404 not_found",
                    "[http] DELETE /v1/categories/k  → 204",
                ]
            }
        ),
    ]

    /// The other rows: below its name are the lines of each.
    private static let written: [(row: String, lines: [String])] =
        #"""
        @getBlob
        [http] PUT /v1/notifications/b/payload  blob ‹#›  → 2…  digest>digest
        [http] GET /v1/blobs/$digest  → 200  =blob ‹#›
        [http] DELETE /v1/notifications/b  → 204
        [http] HEAD /v1/blobs/$digest  → 404
        @holdNew
        [http] POST /v1/blobs  held ‹#›  → 201  digest>digest
        [http] GET /v1/blobs/$digest  → 200  =held ‹#›
        @hold
        [http] POST /v1/blobs  more ‹#›  → 201  digest>digest
        [http] PUT /v1/blobs/$digest?ttl=9  more ‹#›  → 200
        [http] HEAD /v1/blobs/$digest  → 200
        @putPayload
        [http] PUT /v1/notifications/c/payload  v‹#›  → 2…  digest>digest
        [http] PUT /v1/notifications/c/payload  If-Match: "$digest"  w‹#›  → 200
        [http] PUT /v1/notifications/c/payload  If-None-Match: *  w‹#›  → 412 precondition_failed
        [http] DELETE /v1/notifications/c  → 204
        [http] PUT /v1/notifications/c/payload  If-None-Match: *  w‹#›  → 201
        @putPart
        [http] PUT /v1/notifications/c/parts/q  v‹#›  → 2…  digest>digest
        [http] PUT /v1/notifications/c/parts/q  If-Match: *  w‹#›  → 200
        [http] GET /v1/notifications/c/parts/q  → 200  =w‹#›
        @publish
        \#(put)  → 2…  revision>revision
        PUT /v1/notifications/n  If-Match: "$revision"  {"message":"n‹#›"}  → 200
        \#(record)  → 200  message=n‹#›
        @patch
        \#(put)  → 2…  revision>revision
        PATCH /v1/notifications/n  If-Match: "$revision"  {"message":"o‹#›"}  → 200
        \#(record)  → 200  message=o‹#›
        @delete
        \#(put)  → 2…
        DELETE /v1/notifications/n  → 204
        \#(record)  → 404 not_found
        @publishNew
        POST /v1/notifications  {"message":"new ‹#›"}  → 201  id>id
        GET /v1/notifications/$id  → 200  message=new ‹#›
        @publishBatch
        POST /v1/notifications:batch  {"id":"n","message":"line ‹#›"}  → 200
        \#(record)  → 200  message=line ‹#›
        @respond
        \#(put)  → 2…
        POST /v1/notifications/n/responses  {"action":"dismiss","key":"d‹#›"}  → 201
        \#(record)  → 200  ~"key":"d‹#›"
        @envelope
        \#(put)  → 2…
        \#(record)/envelope?platform=apns&style=alert  → 200  ~m‹#›
        DELETE /v1/notifications/n  → 204
        \#(record)/envelope?platform=apns&style=alert  → 404 not_found
        @categories
        PUT /v1/categories/k  \#(categoryDocument)  → 2…
        GET /v1/categories  → 200  ~i‹#›
        DELETE /v1/categories/k  → 204
        GET /v1/categories  → 200  !"k"
        @category
        PUT /v1/categories/k  \#(categoryDocument)  → 2…
        GET /v1/categories/k  → 200  ~i‹#›
        DELETE /v1/categories/k  → 204
        GET /v1/categories/k  → 404 not_found
        @setCategory
        PUT /v1/categories/k  \#(categoryDocument)  → 2…  revision>revision
        PUT /v1/categories/k  If-Match: "$revision"  {"actions":[]}  → 200
        GET /v1/categories/k  → 200  !i‹#›
        @deleteCategory
        PUT /v1/categories/k  \#(categoryDocument)  → 2…  revision>revision
        DELETE /v1/categories/k  If-Match: "$revision"  → 204
        GET /v1/categories/k  → 404 not_found
        @deleteOwner
        \#(put)  → 2…
        DELETE /v1/users/ann  → 200
        \#(record)  → 404 not_found
        \#(put)  → 201
        DELETE /v1/users/ann  → 200
        GET /v1/users/ann/notifications  → 200  ids: -
        @patchGroup
        \#(put)  → 2…
        PATCH /v1/users/ann/notifications?group=g  {"title":"g‹#›"}  → 200
        \#(record)  → 200  title=g‹#›
        @deleteGroup
        \#(put)  → 2…
        DELETE /v1/users/ann/notifications?group=g  → 200
        \#(record)  → 404 not_found
        @live
        [http] GET /livez  → 200
        [http device] GET /livez  → 200
        @ready
        [http] GET /readyz  → 200
        @healthy
        [http] GET /healthz  → 200
        @statistics
        GET /v1/stats  → 200
        @metrics
        [http] GET /metrics  → 200
        @openAPI
        [http] GET /v1/openapi.json  → 200
        @backup
        @scrub
        GET /v1/scrub  → 200
        @startScrub
        POST /v1/scrub  → 200
        @replication
        GET /v1/replication  → 200
        @promote
        POST /v1/replication  → 409 not_replicated
        """#.split(separator: "@").map { text in
            let lines = text.split(separator: "\n").map(String.init)
            return (lines[0], Array(lines.dropFirst()))
        }
}
