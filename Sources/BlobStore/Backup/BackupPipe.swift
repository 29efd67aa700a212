internal import Dispatch
internal import Glibc
internal import Synchronization

/// Hands a backup from the thread that writes it to the one that reads it, through a pipe.
enum BackupPipe {
    private struct Closed: Error {}

    /// What the writing thread is given: it is not used by another meanwhile.
    private struct Work: @unchecked Sendable {
        // Sendable: the caller waits until the thread that runs this has ended.
        let body: () throws -> Void
    }

    private final class Failure: Sendable {
        let error = Mutex<(any Error)?>(nil)
    }

    /// Runs `writing` on a thread of its own and `reading` on this one, and returns when both have ended.
    /// Throws what `writing` throws, or else what `reading` does.
    static func run(
        writing: (_ write: (RawSpan) throws -> Void) throws -> Void,
        reading: (_ read: (inout [UInt8], Int) throws -> Void) throws -> Void
    ) throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw StoreError.system("pipe") }
        let (input, output) = (ends[0], ends[1])
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let failure = Failure()
        let group = DispatchGroup()
        var readError: (any Error)?
        withoutActuallyEscaping(writing) { writing in
            let work = Work { try writing { try write($0, to: output) } }
            DispatchQueue(label: "blobd.backup").async(group: group) {
                do { try work.body() } catch { failure.error.withLock { $0 = error } }
                close(output)
            }
            do { try reading { try read(into: &$0, $1, from: input) } } catch { readError = error }
            // The writer's next bytes fail then.
            close(input)
            group.wait()
        }
        let written = failure.error.withLock { $0 }
        if let written, !(written is Closed) { throw written }
        if let readError { throw readError }
    }

    private static func write(_ bytes: RawSpan, to output: Int32) throws {
        var offset = 0
        while offset < bytes.byteCount {
            let count = bytes.extracting(offset..<bytes.byteCount).withUnsafeBytes {
                Glibc.write(output, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Closed() }
            offset += count
        }
    }

    private static func read(
        into buffer: inout [UInt8], _ byteCountMax: Int, from input: Int32
    ) throws {
        let start = buffer.count
        buffer.append(contentsOf: repeatElement(0, count: byteCountMax))
        var count: Int
        repeat {
            count = buffer.withUnsafeMutableBytes {
                Glibc.read(input, $0.baseAddress! + start, byteCountMax)
            }
        } while count < 0 && errno == EINTR
        buffer.removeLast(byteCountMax - max(0, count))
        guard count >= 0 else { throw StoreError.system("read a pipe") }
    }
}
