import BlobClient
import Foundation
import Testing

/// What a command printed, and its exit code.
struct Outcome {
    var status: Int32
    var text: String
    var errors: String
}

/// A daemon with an empty store, for one test.
final class Daemon {
    /// BLOBD, or the debug build of the package above.
    static let program =
        ProcessInfo.processInfo.environment["BLOBD"]
        ?? URL(fileURLWithPath: #filePath).appending(path: "../../../../.build/debug/blobd")
        .standardized.path
    static let isThere = FileManager.default.isExecutableFile(atPath: program)

    /// It is built beside the tests.
    private static let load = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appending(path: "load").path

    private let folder: String
    private let process = Process()
    var socket: String { "\(folder)/s" }

    init() throws {
        folder =
            FileManager.default.temporaryDirectory
            .appending(path: "load-\(UInt64.random(in: 0 ... .max))").path
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        process.executableURL = URL(fileURLWithPath: Self.program)
        process.arguments = ["serve", "--data", "\(folder)/data", "--socket", "\(folder)/s"]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        try wait("the daemon does not answer") {
            (try? BlobConnection.connect(to: socket)) != nil
        }
    }

    deinit {
        process.terminate()
        process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Tries for a minute.
    func wait(_ problem: String, until isSo: () throws -> Bool) throws {
        let end = ContinuousClock.now + .seconds(60)
        while try !isSo() {
            try #require(ContinuousClock.now < end, "\(problem)")
            usleep(20_000)
        }
    }

    /// The ids of what is stored.
    func ids() throws -> [String] {
        var connection = try BlobConnection.connect(to: socket)
        return try connection.call(.list(limit: 1_000)).notifications.map(\.id)
    }

    /// Starts `load`. Its output goes to files, which a full pipe cannot stop.
    func start(_ arguments: [String]) throws -> Started {
        try Started(Self.load, ["--socket", socket] + arguments, in: folder)
    }

    func run(_ arguments: String...) throws -> Outcome { try start(arguments).end() }

    /// A run without warm-up, for longer if too little was answered in so short a time, as on a busy machine.
    func runShortly(_ arguments: [String], until isEnough: (Outcome) throws -> Bool) throws
        -> Outcome
    {
        for seconds in ["0.2", "2"] {
            let outcome = try start(["--warm-up", "0", "--seconds", seconds] + arguments).end()
            if try outcome.status == 0 && isEnough(outcome) { return outcome }
        }
        return try start(["--warm-up", "0", "--seconds", "20"] + arguments).end()
    }

    /// A command that runs.
    struct Started {
        let process = Process()
        private let files: [String]

        init(_ program: String, _ arguments: [String], in folder: String) throws {
            files = ["out", "errors"].map { "\(folder)/\($0)-\(UInt64.random(in: 0 ... .max))" }
            process.executableURL = URL(fileURLWithPath: program)
            process.arguments = arguments
            let handles = files.map { file in
                FileManager.default.createFile(atPath: file, contents: nil)
                return FileHandle(forWritingAtPath: file)
            }
            process.standardOutput = handles[0]
            process.standardError = handles[1]
            try process.run()
        }

        func end() throws -> Outcome {
            process.waitUntilExit()
            let texts = try files.map { try String(contentsOfFile: $0, encoding: .utf8) }
            return Outcome(
                status: process.terminationStatus, text: texts[0], errors: texts[1])
        }
    }
}
