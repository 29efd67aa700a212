import BlobProtocol
import BlobStore
import Bytes

/// An HTTP call: a row of ``all``. A class, so that requests refer to a row and do not copy it.
final class Endpoint: Sendable {
    /// GET is for HEAD as well.
    let method: HTTPMethod
    let path: PathPattern
    let parameters: [Parameter]
    /// Its `operationId` in `docs/openapi.json`.
    let name: StaticString
    /// What metrics and logs count it as.
    let operation: Operation
    let body: Body
    /// The parameters that its query may have; nil: the query is not looked at. A payload's are
    /// ``Publication/parameters``.
    let query: [StaticString]?
    /// What the answer to a GET shows of the store, so that it must be in the snapshot.
    let reads: Reads
    let interfaces: Interfaces
    let rules: Rules
    let action: Action

    enum Parameter: String {
        case id, owner, digest
        /// A part's where the path has an id, else a category's.
        case name
    }

    struct Interfaces: OptionSet, Sendable {
        let rawValue: UInt8

        static let mainSocket = Interfaces(rawValue: 1 << 0)
        static let deviceSocket = Interfaces(rawValue: 1 << 1)
        /// The `call` of the binary protocol.
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
        /// A notification's document, by itself or with its files. A POST may also be a payload's bytes.
        case notification
        /// A notification's document in each line.
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

        /// Its path and query are a signed link.
        static let signed = Rules(rawValue: 1 << 0)
        /// It is a device's, whose token says which notifications exist.
        static let token = Rules(rawValue: 1 << 4)
        /// Without this rule, a condition (RFC 9110, section 13.1) is refused, which would be ignored.
        static let conditions = Rules(rawValue: 1 << 1)
        /// It is no change, although it is no GET: a follower carries it out.
        static let onFollowers = Rules(rawValue: 1 << 2)
        /// It is answered while clients that do not read hold all memory for answers.
        static let withoutMemory = Rules(rawValue: 1 << 3)
    }

    enum Action: Sendable {
        /// The bytes of a payload: `PayloadPath` finds it before the table is searched.
        case fetch
        case perform(
            @Sendable (RequestHandler) -> (EndpointRequest) throws(ProtocolError) -> ActionStep)
        case performInSnapshot(
            @Sendable (RequestHandler) -> (EndpointRequest, borrowing Snapshot)
                throws(ProtocolError) -> ActionStep)
    }

    init(
        _ method: HTTPMethod, _ path: StaticString, _ name: StaticString, _ operation: Operation,
        body: Body = .ignored, query: [StaticString]? = [], reads: Reads = .nothing,
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
        self.reads = reads
        self.interfaces = interfaces
        self.rules = rules
        self.action = action
    }

    /// Whether a follower refuses it, and a leader whose bucket is too far behind.
    var isChange: Bool { method != .get && !rules.contains(.onFollowers) }
}

extension Endpoint {
    /// Throws `not_found` for a path that has no calls on this interface, and `method_not_allowed` for one that has
    /// others.
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

    /// As the `Allow` field of a 405 lists them (RFC 9110, section 10.2.1); nil where the path has no calls.
    static func methods(of path: RawSpan, on interface: Interfaces) -> String? {
        let count = PathPattern.segmentCount(of: path)
        var names: [String] = []
        for endpoint in all where endpoint.interfaces.contains(interface) {
            let name = endpoint.method == .get ? "GET, HEAD" : endpoint.method.name.description
            guard endpoint.path.match(path, segmentCount: count) != nil, !names.contains(name)
            else { continue }
            names.append(name)
        }
        return names.isEmpty ? nil : names.joined(separator: ", ")
    }
}
