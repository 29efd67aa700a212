import BlobProtocol
import BlobStore
import Foundation
import Notifications
import TestSupport
import Testing

@testable import BlobServer

/// The OpenAPI document next to the code: the same calls, codes and limits.
@Suite(.waiting) struct OpenAPITests {
    private static let text = Files.text("\(Files.package)/docs/openapi.json")
    let document = OpenAPI(text)

    @Test("A daemon answers docs/openapi.json")
    func served() throws {
        let daemon = try DaemonProcess()
        let answer = try daemon.request("GET", "/v1/openapi.json")
        #expect(answer.status == 200 && answer["Content-Type"] == "application/json")
        #expect(answer.text == Self.text)
        #expect(OpenAPI.walk(document.root, "info", "version") as? String == blobdVersion)
    }

    /// The parameters of an operation's query, but a link's.
    private func query(_ operation: [String: Any]) -> [String] {
        let parameters = operation["parameters"] as? [[String: Any]] ?? []
        return parameters.compactMap { parameter in
            var parameter = parameter
            if let name = (parameter["$ref"] as? String)?.split(separator: "/").last {
                let shared = OpenAPI.walk(document.root, "components", "parameters", String(name))
                parameter = shared as? [String: Any] ?? [:]
            }
            let name = parameter["name"] as? String ?? ""
            let isOfLink = SignedLink.isParameter(name.utf8.span.bytes)
            return parameter["in"] as? String == "query" && !isOfLink ? name : nil
        }.sorted()
    }

    @Test("It has every call of the table with its query, and nothing else")
    func calls() throws {
        var documented: Set<String> = []
        for path in document.paths {
            for method in HTTPMethod.allCases {
                guard let operation = document.operation(path, "\(method)") else { continue }
                documented.insert(
                    "\(method) \(path) \(operation["operationId"] ?? "") \(query(operation))")
            }
        }
        var known: Set<String> = []
        for endpoint in Endpoint.all where endpoint.interfaces != .frames {
            var names = (endpoint.query ?? []).map(\.description)
            if endpoint.body == .payload || endpoint.name.description == "publishNew" {
                names += Publication.parameters.map(\.description)
            }
            let row = "\(endpoint.path.text) \(endpoint.name)"
            known.insert("\(endpoint.method) \(row) \(names.sorted())")
            guard endpoint.method == .get else { continue }
            known.insert("head \(row)Head \(names.sorted())")
        }
        #expect(documented == known)
    }

    @Test("A path finds its row of the table, on the interfaces that have it")
    func rows() throws {
        for endpoint in Endpoint.all {
            let path = Array(OpenAPI.filled(endpoint.path.text.description).utf8)
            for interface in [Endpoint.Interfaces.mainSocket, .deviceSocket, .frames] {
                let found = try? Endpoint.find(endpoint.method, path.span.bytes, on: interface)
                #expect(
                    endpoint.interfaces.contains(interface) == (found != nil), "\(endpoint.name)")
                #expect(found.map { "\($0.endpoint.name)" == "\(endpoint.name)" } ?? true)
            }
            guard endpoint.interfaces != .frames else { continue }
            let allowed = Endpoint.methods(of: path.span.bytes, on: .mainSocket) ?? ""
            let methods = allowed.split(separator: ", ")
            #expect(methods.contains { $0 == "\(endpoint.method.name)" })
            #expect(Set(methods).count == methods.count)
        }
    }

    @Test("The paths of the calls that fetch, and no others, are a payload's")
    func fetches() {
        for endpoint in Endpoint.all where endpoint.method == .get {
            let path = Array(OpenAPI.filled(endpoint.path.text.description).utf8)
            let isPayload = PayloadPath.parse(path.span.bytes) != nil
            var isFetch = false
            // A device's are found with what its token says.
            if case .fetch = endpoint.action { isFetch = !endpoint.rules.contains(.token) }
            #expect(isPayload == isFetch, "\(endpoint.name)")
        }
    }

    @Test("It has every code of HTTP under its status")
    func codes() throws {
        let binaryOnly: Set<ErrorCode> = [.reserved, .version]
        let known = ErrorCode.allCases.filter { !binaryOnly.contains($0) }
        #expect(Set(document.texts("components", "schemas", "ErrorCode", "enum")) == names(known))
        var statuses: Set<Int> = []
        for (name, response) in document.responses {
            let content = OpenAPI.walk(response, "content", "application/problem+json", "schema")
            guard let parts = (content as? [String: Any])?["allOf"] as? [Any] else { continue }
            let status = OpenAPI.walk(parts.last, "properties", "status", "const") as? Int
            let codes = OpenAPI.walk(parts.last, "properties", "code", "enum") as? [String]
            // One of them has two statuses.
            let expected = known.filter {
                Int($0.status) == status || ($0 == .quotaExceeded && status == 429)
            }
            #expect(Set(codes ?? []) == names(expected), "\(name)")
            statuses.insert(status ?? 0)
        }
        #expect(statuses == Set(known.map { Int($0.status) }))
    }

    private func names(_ codes: [ErrorCode]) -> Set<String> { Set(codes.map(\.rawValue)) }

    @Test("Each operation refers to the errors of its status, and says what succeeds")
    func operations() throws {
        var ids: Set<String> = []
        for path in document.paths {
            for method in ["get", "head", "put", "post", "patch", "delete"] {
                guard let operation = document.operation(path, method) else { continue }
                let id = try #require(operation["operationId"] as? String)
                #expect(ids.insert(id).inserted, "\(id)")
                let responses = try #require(operation["responses"] as? [String: Any])
                #expect(responses.keys.contains { $0.hasPrefix("2") }, "\(id)")
                for (status, response) in responses {
                    guard let status = Int(status), status >= 400 else { continue }
                    let reference = OpenAPI.walk(response, "$ref") as? String ?? ""
                    let name = String(reference.split(separator: "/").last ?? "")
                    let parts = OpenAPI.walk(
                        document.responses[name], "content", "application/problem+json", "schema",
                        "allOf")
                    let own = OpenAPI.walk(
                        (parts as? [Any])?.last, "properties", "status", "const")
                    #expect(own as? Int == status, "\(id) \(status)")
                }
            }
        }
    }

    @Test("Its limits are the code's")
    func limits() {
        for (name, limit) in [
            ("NotificationID", WireLimits.idByteCountMax),
            ("PartName", TextKind.part.byteCountMax),
            ("Owner", TextKind.owner.byteCountMax), ("App", TextKind.app.byteCountMax),
            ("CategoryName", TextKind.category.byteCountMax),
            ("Device", TextKind.device.byteCountMax), ("Group", TextKind.group.byteCountMax),
            ("Title", TextKind.title.byteCountMax), ("RichType", TextKind.richType.byteCountMax),
            ("Message", TextKind.message.byteCountMax),
        ] {
            #expect(document.schema(name, "maxLength") == limit, "\(name)")
            #expect(document.schema(name, "x-max-bytes") == limit, "\(name)")
        }
        #expect(document.schema("MediaType", "maxLength") == WireLimits.mediaTypeByteCountMax)
        #expect(document.schema("TTL", "maximum") == Int(DaemonLimits().ttlSecondsMax))
        #expect(document.schema("DisplayTTL", "maximum") == Int(StoreLimits.displayTTLSecondsMax))
        #expect(document.schema("Data", "x-max-bytes") == StoreLimits.dataByteCountMax)
        #expect(document.schema("Actions", "maxItems") == StoreLimits.actionCountMax)
        for name in ["Notification", "Patch", "Response", "CategoryDocument"] {
            #expect(document.schema(name, "x-max-bytes") == WireLimits.documentByteCountMax)
        }
        let action = ["Action", "properties"]
        #expect(
            document.schema(action + ["identifier", "maxLength"])
                == StoreLimits.actionIdentifierByteCountMax)
        #expect(
            document.schema(action + ["title", "maxLength"]) == StoreLimits.actionTitleByteCountMax)
        #expect(
            document.schema(["Response", "properties", "action", "maxLength"])
                == TextKind.responseAction.byteCountMax)
        for name in ["Notification", "Record"] {
            #expect(
                document.schema([name, "properties", "parts", "maxItems"])
                    == StoreLimits.partCountMax)
        }
        #expect(
            document.schema(["Record", "properties", "responses", "maxItems"])
                == StoreLimits.responseCountMax)
        #expect(document.parameter("limit", "maximum") == WireLimits.feedPageLimitMax)
        #expect(document.parameter("limit", "default") == WireLimits.feedPageLimitDefault)
        #expect(document.parameter("wait", "maximum") == WireLimits.waitSecondsMax)
        #expect(document.parameter("k", "maxLength") == SigningKeys.idByteCountMax)
        let batch = OpenAPI.walk(
            document.operation("/v1/notifications:batch", "post"), "requestBody", "content",
            "application/x-ndjson", "schema", "x-max-bytes")
        #expect(batch as? Int == WireLimits.batchByteCountMax)
    }

    /// Whether schemathesis is there, or can be installed: a few seconds, once for each build folder.
    private static let hasTools: Bool = {
        let script = "\(Files.package)/Scripts/openapi-check"
        return (try? run(["timeout", "300", script, "--install"]))?.end == .exited(0)
    }()

    @Test(
        "A validator and schemathesis find no difference between a daemon and its document",
        .enabled(if: hasTools, "schemathesis cannot be installed"),
        .disabled(if: hasSanitizer, "the daemon is the same"))
    func requests() async throws {
        let (end, output, errors) = try await runAside([
            "\(Files.package)/Scripts/openapi-check", "--built", DaemonProcess.program,
            "--examples", "6", "--seed", "1",
        ])
        #expect(end == .exited(0), "\(String(decoding: output, as: UTF8.self))\(errors)")
    }
}

/// An OpenAPI document, as Foundation reads it.
struct OpenAPI {
    let root: [String: Any]

    init(_ text: String) {
        let value = try? JSONSerialization.jsonObject(with: Data(text.utf8))
        root = value as? [String: Any] ?? [:]
    }

    var paths: [String] { ((root["paths"] as? [String: Any]) ?? [:]).keys.sorted() }

    /// A path with something for each of its parameters.
    static func filled(_ path: String) -> String {
        path.replacing(#/\{[a-z]+\}/#) { match in
            switch match.output {
            case "{id}": "42"
            case "{owner}": "ann"
            case "{digest}": "sha256:\(String(repeating: "0", count: 64))"
            default: "payload"
            }
        }
    }

    func operation(_ path: String, _ method: String) -> [String: Any]? {
        Self.walk(root, "paths", path, method) as? [String: Any]
    }

    var responses: [String: Any] {
        Self.walk(root, "components", "responses") as? [String: Any] ?? [:]
    }

    func texts(_ names: String...) -> [String] {
        Self.walk(root, names) as? [String] ?? []
    }

    func schema(_ names: String...) -> Int? { schema(names) }

    func schema(_ names: [String]) -> Int? {
        Self.walk(root, ["components", "schemas"] + names) as? Int
    }

    func parameter(_ name: String, _ member: String) -> Int? {
        Self.walk(root, "components", "parameters", name, "schema", member) as? Int
    }

    static func walk(_ value: Any?, _ names: String...) -> Any? { walk(value, names) }

    static func walk(_ value: Any?, _ names: [String]) -> Any? {
        names.reduce(value) { ($0 as? [String: Any])?[$1] }
    }
}
