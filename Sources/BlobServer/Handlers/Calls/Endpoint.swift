import BlobProtocol
import BlobStore
import Bytes

/// An HTTP call: a row of ``all``. A class, so that requests refer to a row instead of copying it.
final class Endpoint: Sendable {
    /// GET includes HEAD.
    let method: HTTPMethod
    let path: PathPattern
    let parameters: [Parameter]
    /// Its `operationId` in `docs/openapi.json`.
    let name: StaticString
    /// What metrics and logs count it as.
    let operation: Operation
    let body: Body
    /// The parameters that its query may have; nil: the query is ignored. For a payload, ``Publication/parameters``.
    let query: [StaticString]?
    let interfaces: Interfaces
    let rules: Rules
    let action: Action

    enum Parameter: String {
        case id, owner, digest
        /// A part's name if the path contains an id, otherwise a category's.
        case name
    }

    struct Interfaces: OptionSet, Sendable {
        let rawValue: UInt8

        static let mainSocket = Interfaces(rawValue: 1 << 0)
        static let deviceSocket = Interfaces(rawValue: 1 << 1)
        /// The `call` frame of the binary protocol.
        static let frames = Interfaces(rawValue: 1 << 2)

        static let backends: Interfaces = [.mainSocket, .frames]
        static let devices: Interfaces = [.mainSocket, .deviceSocket]
    }

    enum Body: Sendable {
        case none
        case ignored
        case payload
        case blob
        case document
        case patch
        /// A notification's document, alone or with its files. A POST may also be the bytes of a payload.
        case notification
        /// One notification document per line.
        case lines

        var isReceived: Bool {
            switch self {
            case .none, .ignored: false
            case .payload, .blob, .document, .patch, .notification, .lines: true
            }
        }

        var mediaTypes: StaticString {
            switch self {
            case .patch: "application/merge-patch+json, application/json"
            case .notification: "application/json, multipart/form-data"
            default: "application/json"
            }
        }
    }

    struct Rules: OptionSet, Sendable {
        let rawValue: UInt8

        /// The path and query are a signed link.
        static let signed = Rules(rawValue: 1 << 0)
        /// A device's call. Its token determines which notifications exist.
        static let token = Rules(rawValue: 1 << 4)
        /// Without this rule a condition (RFC 9110, section 13.1), which would be ignored, is refused.
        static let conditions = Rules(rawValue: 1 << 1)
        /// Not a change, although it is not a GET: followers accept it.
        static let onFollowers = Rules(rawValue: 1 << 2)
        /// Answered even if clients that do not read hold all memory for answers.
        static let withoutMemory = Rules(rawValue: 1 << 3)
        /// Reads what is committed only, so that all that is acknowledged is committed before.
        static let onCommitted = Rules(rawValue: 1 << 5)
    }

    enum Action: Sendable {
        /// The bytes of a payload: `PayloadPath` recognizes it before the table is searched.
        case fetch
        case perform(
            @Sendable (RequestHandler) -> (EndpointRequest) throws(ProtocolError) -> ActionStep)
        case performInSnapshot(
            @Sendable (RequestHandler) -> (EndpointRequest, borrowing Snapshot)
                throws(ProtocolError) -> ActionStep)
    }

    init(
        _ method: HTTPMethod, _ path: StaticString, _ name: StaticString, _ operation: Operation,
        body: Body = .ignored, query: [StaticString]? = [],
        on interfaces: Interfaces = .mainSocket,
        also rules: Rules = [], _ action: Action
    ) {
        self.method = method
        self.path = PathPattern(path)
        parameters = self.path.parameters.map {
            guard let parameter = Parameter(rawValue: $0) else {
                preconditionFailure("\(path) has the unknown parameter \($0)")
            }
            return parameter
        }
        self.name = name
        self.operation = operation
        self.body = body
        self.query = query
        self.interfaces = interfaces
        self.rules = rules
        self.action = action
    }

    /// Whether it is refused by a follower, and by a leader whose bucket lags too far behind.
    var isChange: Bool { method != .get && !rules.contains(.onFollowers) }
}

extension Endpoint {
    /// Throws `not_found` for a path without calls on this interface, and `method_not_allowed` for one with others.
    static func find(
        _ method: HTTPMethod, _ path: RawSpan, on interface: Interfaces
    ) throws(ProtocolError) -> (endpoint: Endpoint, names: PathPattern.Match) {
        let count = PathPattern.segmentCount(of: path)
        let known = method == .head ? .get : method
        for endpoint in all
        where endpoint.method == known && endpoint.interfaces.contains(interface) {
            if let names = endpoint.path.match(path, segmentCount: count) {
                return (endpoint, names)
            }
        }
        let methods = methods(of: path, on: interface)
        guard methods != nil || method == .other else { throw .notFound("resource") }
        throw ProtocolError(
            .methodNotAllowed,
            interface == .frames
                ? "this resource supports \(methods ?? ""), not \(method.name)"
                : "this resource does not support the method; see Allow")
    }

    /// The methods for the `Allow` field of a 405 (RFC 9110, section 10.2.1), of all calls of an interface that
    /// `isIncluded`; nil: there are none.
    private static func methods(
        on interface: Interfaces, _ isIncluded: (Endpoint) -> Bool
    ) -> String? {
        var names: [String] = []
        for endpoint in all where endpoint.interfaces.contains(interface) {
            let name = endpoint.method == .get ? "GET, HEAD" : endpoint.method.name.description
            guard !names.contains(name), isIncluded(endpoint) else { continue }
            names.append(name)
        }
        return names.isEmpty ? nil : names.joined(separator: ", ")
    }

    /// The methods of a path; nil if it has no calls on this interface.
    static func methods(of path: RawSpan, on interface: Interfaces) -> String? {
        let count = PathPattern.segmentCount(of: path)
        return methods(on: interface) { $0.path.match(path, segmentCount: count) != nil }
    }

    /// The methods of any path.
    static func methods(on interface: Interfaces) -> String {
        methods(on: interface) { _ in true } ?? ""
    }
}
