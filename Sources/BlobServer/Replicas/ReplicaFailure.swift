/// Why a daemon cannot lead or follow: words for the operator.
struct ReplicaFailure: Error, CustomStringConvertible {
    let description: String
}
