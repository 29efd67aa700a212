/// What is measured: blobd in its two dialects, the peers, and the mark in C.
public enum Server: String, Codable, Sendable, CaseIterable, CodingKeyRepresentable {
    /// `blobd`, binary protocol.
    case blobd
    /// `blobd`, HTTP/1.1.
    case blobdHTTP = "blobd-http"
    /// memcached, a cache in memory.
    case memcached
    /// redis, a store in memory.
    case redis
    /// nginx, files from a folder.
    case nginx
    /// varnish, an HTTP cache in memory.
    case varnish
    /// Our C program over the same file, answering with `sendmsg` from the map.
    case baselineWritev = "c-writev"
    /// Our C program over the same file, answering with `sendfile`.
    case baselineSendfile = "c-sendfile"

    /// The part it plays.
    public enum Role: String, Codable, Sendable {
        /// What the comparison is about.
        case subject
        /// What others would use.
        case peer
        /// The least that has to be done, by a program that does nothing else.
        case baseline
    }

    /// The part it plays.
    public var role: Role {
        switch self {
        case .blobd, .blobdHTTP: .subject
        case .memcached, .redis, .nginx, .varnish: .peer
        case .baselineWritev, .baselineSendfile: .baseline
        }
    }

    /// What it is called in tables and charts.
    public var label: String {
        switch self {
        case .blobd: "blobd"
        case .blobdHTTP: "blobd HTTP"
        case .memcached: "memcached"
        case .redis: "redis"
        case .nginx: "nginx"
        case .varnish: "varnish"
        case .baselineWritev: "C writev"
        case .baselineSendfile: "C sendfile"
        }
    }

    /// Those of one part, in the order of tables.
    public static func those(_ role: Role) -> [Server] { allCases.filter { $0.role == role } }
}
