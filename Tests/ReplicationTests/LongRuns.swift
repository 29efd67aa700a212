import Glibc

/// How often something random is done: as the suite does it, or as an environment variable says. See
/// `Scripts/torture replication`.
enum LongRuns {
    static func count(_ name: String, usually count: Int) -> Int {
        getenv(name).flatMap { Int(String(cString: $0)) } ?? count
    }
}
