import CLinux
import Glibc

/// A program that is run for what it prints.
enum ChildProcess {
    struct Run {
        var output: [UInt8]
        /// As waitpid(2) has it.
        var status: CInt
    }

    enum Failure: Error {
        case stopped
        case late
        /// After the program's name.
        case failed(String)
    }

    /// While nothing says that the program has ended, though its output may stay open: in a child of its own.
    private static let lookMilliseconds = 20

    /// Runs a program without a shell: found by `PATH`, with this process's variables and errors, and nothing to read.
    /// Past the time or the number of bytes, it is killed with all that it started in its process group.
    static func run(
        _ words: [String], byteCountMax: Int, milliseconds: Int, stop: StopSignal
    ) throws(Failure) -> Run {
        let deadline = MonotonicClock.milliseconds() + milliseconds
        var ends: (input: CInt, output: CInt) = (-1, -1)
        guard clinux_pipe(&ends.input, &ends.output) == 0 else { throw failure("cannot be run") }
        defer { close(ends.input) }
        var arguments = words.map { strdup($0) }
        arguments.append(nil)
        defer { for text in arguments { free(text) } }
        let pid = clinux_start_program(&arguments, ends.output)
        let error = errno
        close(ends.output)
        errno = error
        guard pid > 0 else { throw failure("cannot be run") }
        // Else a read would wait for a program that has closed nothing and writes nothing.
        _ = clinux_set_nonblocking(ends.input)
        do throws(Failure) {
            return try collect(pid, ends.input, byteCountMax, until: deadline, stop)
        } catch {
            kill(-pid, SIGKILL)
            _ = wait(for: pid, 0)
            throw error
        }
    }

    private static func collect(
        _ pid: pid_t, _ input: CInt, _ byteCountMax: Int, until deadline: Int, _ stop: StopSignal
    ) throws(Failure) -> Run {
        var output: [UInt8] = []
        var isOpen = true
        var status: CInt?
        while true {
            // What it wrote before its end is there after its end.
            status = wait(for: pid, WNOHANG)
            if isOpen { isOpen = try read(input, into: &output, byteCountMax) }
            if let status { return Run(output: output, status: status) }
            let left = deadline - MonotonicClock.milliseconds()
            guard left > 0 else { throw .late }
            var entries = [
                pollfd(fd: isOpen ? input : -1, events: CShort(POLLIN), revents: 0),
                pollfd(fd: stop.descriptor, events: CShort(POLLIN), revents: 0),
            ]
            _ = poll(&entries, 2, CInt(min(left, lookMilliseconds)))
            if stop.isStopped { throw .stopped }
        }
    }

    /// Reads all that is there; false at the end.
    private static func read(
        _ input: CInt, into output: inout [UInt8], _ byteCountMax: Int
    ) throws(Failure) -> Bool {
        var piece = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = Glibc.read(input, &piece, piece.count)
            if count == 0 { return false }
            if count < 0 {
                if errno == EINTR { continue }
                return errno == EAGAIN
            }
            output += piece[..<count]
            guard output.count <= byteCountMax else {
                throw .failed("printed more than \(byteCountMax) bytes")
            }
        }
    }

    /// The status of a program that has ended; nil: it runs.
    private static func wait(for pid: pid_t, _ options: CInt) -> CInt? {
        var status: CInt = 0
        while true {
            let ended = waitpid(pid, &status, options)
            if ended == pid { return status }
            if ended == 0 { return nil }
            // Without one there is no telling: as if it had failed.
            if errno != EINTR { return 1 << 8 }
        }
    }

    private static func failure(_ words: String) -> Failure {
        .failed("\(words): \(String(cString: strerror(errno)))")
    }
}
