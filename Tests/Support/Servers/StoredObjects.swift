import Synchronization

/// Objects in memory that are asked for with S3's HTTP, for a ``ScriptedServer``.
public final class StoredObjects: Sendable {
    private struct State {
        var objects: [String: [UInt8]] = [:]
        var putCounts: [String: Int] = [:]
    }

    private let state = Mutex(State())

    /// None yet.
    public init() {}

    /// Whether there are none.
    public var isEmpty: Bool { state.withLock { $0.objects.isEmpty } }

    /// Whether there is an object at this path.
    public func holds(_ path: String) -> Bool { state.withLock { $0.objects[path] != nil } }

    /// How many puts of this path came.
    public func putCount(of path: String) -> Int { state.withLock { $0.putCounts[path] ?? 0 } }

    /// Answers as S3 does, but for conditions: none counts unless `honours` says so.
    ///
    /// - Parameter honours: whether a conditional put is one; it is asked with how many puts of the name came before.
    public func answer(
        _ request: ScriptedServer.Request, honours: (Int) -> Bool = { _ in false }
    ) -> [ScriptedServer.Step] {
        state.withLock { state in
            let path = request.target
            switch request.method {
            case "PUT":
                let before = state.putCounts[path] ?? 0
                state.putCounts[path] = before + 1
                if request.headers["if-none-match"] == "*", honours(before),
                    state.objects[path] != nil
                {
                    return [.error(412, "PreconditionFailed")]
                }
                state.objects[path] = request.body
                return [.stored]
            case "DELETE":
                state.objects[path] = nil
                return [.text("HTTP/1.1 204 No Content\n\n")]
            default:
                if path.contains("?") {
                    return [.answer(200, body: Self.listing(of: state.objects, path))]
                }
                guard let found = state.objects[path] else { return [.error(404, "NoSuchKey")] }
                return [
                    .text("HTTP/1.1 200 OK\nContent-Length: \(found.count)\n\n"), .send(found),
                ]
            }
        }
    }

    /// The names of objects that begin with the prefix that is asked for.
    private static func listing(of objects: [String: [UInt8]], _ target: String) -> String {
        let parts = target.split(separator: "?")
        let prefix = parts[1].split(separator: "&").first { $0.hasPrefix("prefix=") }?
            .dropFirst("prefix=".count).replacing("%2F", with: "/")
        let folder = parts[0] + "/"
        let listed = objects.filter { $0.key.hasPrefix(folder + (prefix ?? "")) }
            .sorted { $0.key < $1.key }
            .map { name, bytes in
                "<Contents><Key>\(name.dropFirst(folder.count))</Key><Size>\(bytes.count)</Size></Contents>"
            }
        return
            "<ListBucketResult><IsTruncated>false</IsTruncated>\(listed.joined())</ListBucketResult>"
    }
}
