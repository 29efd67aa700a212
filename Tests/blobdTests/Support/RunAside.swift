import Dispatch
import TestSupport

/// Runs a command that takes long to its end, on a thread of its own: the tests' threads are few.
func runAside(
    _ command: [String], environment: [String: String] = [:]
) async throws -> (end: ProcessEnd, output: [UInt8], errors: String) {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue(label: "aside").async {
            continuation.resume(with: Result { try run(command, environment: environment) })
        }
    }
}
