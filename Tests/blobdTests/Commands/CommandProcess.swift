import Foundation
import Testing

/// The `blobd` program, run as a user runs it.
enum CommandProcess {
    struct Result {
        var status: Int32
        var output: [UInt8]
        var errors: String

        var text: String { String(decoding: output, as: UTF8.self) }
    }

    /// The program that was built along with these tests.
    static var path: String {
        get throws {
            // The tests run inside of a program in the same folder, or are a bundle named among the
            // arguments.
            let link = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            for candidate in [link] + CommandLine.arguments {
                let folder = URL(fileURLWithPath: candidate).deletingLastPathComponent()
                let program = folder.appendingPathComponent("blobd").path
                if FileManager.default.isExecutableFile(atPath: program) { return program }
            }
            throw Failure("blobd is not built beside the tests")
        }
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    /// Runs it to its end. Its standard input is empty, or a pipe with `input`.
    static func run(
        _ arguments: [String], socket: String? = nil, input: [UInt8]? = nil
    ) throws -> Result {
        // Files, because two pipes that are read one after the other can wait for each other.
        let folder = try TemporaryFolder()
        let output = try folder.createFile("output")
        let errors = try folder.createFile("errors")
        let process = Process()
        if let input {
            // A pipe whose writer is cat: were it this process, a program that does not read would
            // end the tests with SIGPIPE.
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments =
                ["-c", "cat \"$0\" | \"$@\"", try folder.write("input", input), try path]
                + arguments
        } else {
            process.executableURL = URL(fileURLWithPath: try path)
            process.arguments = arguments
        }
        process.environment = environment(socket)
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationReason == .exit, "blobd \(arguments) ended by a signal")
        return Result(
            status: process.terminationStatus, output: try folder.read("output"),
            errors: String(decoding: try folder.read("errors"), as: UTF8.self))
    }

    static func environment(_ socket: String?) -> [String: String] {
        var environment = ProcessInfo.processInfo.environment
        environment["SWIFT_BACKTRACE"] = "enable=no"
        environment["BLOBD_SOCKET"] = socket
        return environment
    }
}

/// A folder that is gone with its last user.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        // Short, because a socket's path may have 107 bytes.
        path = "/tmp/blobd-\(UInt32.random(in: 0...UInt32.max))"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func path(_ name: String) -> String { "\(path)/\(name)" }

    func createFile(_ name: String, _ bytes: [UInt8] = []) throws -> FileHandle {
        try write(name, bytes)
        guard let handle = FileHandle(forWritingAtPath: path(name)) else {
            throw CommandProcess.Failure("\(path(name)) cannot be written")
        }
        return handle
    }

    @discardableResult
    func write(_ name: String, _ bytes: [UInt8]) throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
        return path(name)
    }

    func read(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: path(name))))
    }

    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }
}

/// A daemon of its own in a temporary folder, ended with its last user.
final class CommandDaemon: @unchecked Sendable {  // The process is only touched in init and deinit.
    let folder: TemporaryFolder
    let socket: String
    let data: String
    private let process = Process()

    /// Starts one, in `folder` when the store of an earlier one shall go on.
    init(_ options: [String] = [], in folder: TemporaryFolder? = nil) throws {
        let folder = try folder ?? TemporaryFolder()
        self.folder = folder
        socket = folder.path("s")
        data = folder.path("data")
        process.executableURL = URL(fileURLWithPath: try CommandProcess.path)
        process.arguments = ["serve", "--data", data, "--socket", socket] + options
        process.environment = CommandProcess.environment(nil)
        let ready = Pipe()
        process.standardOutput = ready
        process.standardError = FileHandle.nullDevice
        try process.run()
        // It prints one line when it is ready, and closes its output when it fails.
        guard !ready.fileHandleForReading.availableData.isEmpty else {
            throw CommandProcess.Failure("the daemon did not get ready")
        }
    }

    deinit {
        process.terminate()
        process.waitUntilExit()
    }

    func run(_ arguments: String..., input: [UInt8]? = nil) throws -> CommandProcess.Result {
        try CommandProcess.run(arguments, socket: socket, input: input)
    }
}
