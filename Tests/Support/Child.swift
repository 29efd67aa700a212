public import Glibc

/// A process with a socket to its standard input and output. It is killed with its last reference.
public final class Child {
    /// Its number.
    public let pid: pid_t
    private var input: Int32
    private let output: Int32
    private var buffered: [UInt8] = []
    private var end: ProcessEnd?

    /// The other process of the store's tests.
    public static var torturer: String { "\(Files.products)/store-torture" }

    /// Starts `path`; see `spawn`.
    public init(
        _ path: String, _ arguments: [String], environment: [String: String] = [:],
        errors: ProcessOutput = .descriptor(2)
    ) throws {
        let (childInput, input) = try makeSocketPair()
        let (output, childOutput) = try makeSocketPair()
        self.input = input
        self.output = output
        defer {
            close(childInput)
            close(childOutput)
        }
        pid = try spawn(
            [path] + arguments, input: childInput, output: .descriptor(childOutput),
            errors: errors, environment: environment)
    }

    deinit {
        kill()
        wait()
        if input >= 0 { close(input) }
        close(output)
    }

    /// The next line, without its end; nil when the process has closed its output.
    public func readLine() -> String? {
        while true {
            if let end = buffered.firstIndex(of: 0x0A) {
                let line = String(decoding: buffered[..<end], as: UTF8.self)
                buffered.removeSubrange(...end)
                return line
            }
            guard fill() else { return nil }
        }
    }

    /// All lines that are left, but an unfinished last one.
    public func readLines() -> [String] {
        while fill() {}
        let text = String(decoding: buffered, as: UTF8.self)
        buffered = []
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            .map { String($0) }
    }

    private func fill() -> Bool {
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(output, &piece, piece.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return false }
            buffered += piece[..<count]
            return true
        }
    }

    /// Sends a line to its input.
    public func writeLine(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = send(input, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Waits until a line can be read, or its output has ended.
    ///
    /// - Returns: false when nothing came in so many milliseconds.
    public func hasOutput(milliseconds: Int32) -> Bool {
        if buffered.contains(0x0A) { return true }
        var request = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
        return poll(&request, 1, milliseconds) > 0
    }

    /// Ends its input.
    public func closeInput() {
        close(input)
        input = -1
    }

    /// Sends a signal, unless its end is known.
    public func kill(_ signal: Int32 = SIGKILL) {
        if end == nil { Glibc.kill(pid, signal) }
    }

    /// Waits for its end.
    @discardableResult
    public func wait() -> ProcessEnd {
        let end = end ?? reap(pid)
        self.end = end
        return end
    }

    /// Starts `path`, waits for its end, and returns the lines it wrote and how it ended.
    public static func run(
        _ path: String, _ arguments: [String], environment: [String: String] = [:],
        errors: ProcessOutput = .descriptor(2)
    ) throws -> (lines: [String], status: ProcessEnd) {
        let child = try Child(
            path, arguments, environment: environment, errors: errors)
        child.closeInput()
        let lines = child.readLines()
        return (lines, child.wait())
    }
}
