import Glibc
import SimulatedSystem
import TestSupport

/// Plays seeds in several processes, each one after the other, and gathers what they find.
///
/// A worker writes a line before each run and one after it, so that it is known in which one it died.
struct Workers {
    private let options: CommandLineOptions
    private let begin = sim_real_monotonic_ms()

    init(_ options: CommandLineOptions) { self.options = options }

    /// What was found how often, when first, and in which run.
    private struct Group {
        var count = 0
        var seed: UInt64
        var milliseconds: Int64
        var text: String
    }

    private struct Worker {
        let index: Int
        var process: Int32
        var descriptor: Int32
        var pending: [UInt8] = []
        /// The run that it is in.
        var seed: UInt64?
        var next: UInt64
    }

    func run() -> Int32 {
        var groups: [String: Group] = [:]
        var sums: [String: Int] = [:]
        var runCount = 0
        var workers = (0..<options.jobCount).map { index in
            start(index, from: options.seeds.lowerBound + UInt64(index))
        }
        func note(_ kind: String, _ text: String, _ seed: UInt64) {
            let elapsed = sim_real_monotonic_ms() - begin
            if groups[kind] == nil {
                groups[kind] = Group(count: 0, seed: seed, milliseconds: elapsed, text: text)
                print("seed \(seed) after \(elapsed) ms and \(runCount) runs: \(text)")
            }
            groups[kind]?.count += 1
        }
        while !workers.isEmpty, options.continues || groups.isEmpty {
            var polled = workers.map {
                pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0)
            }
            poll(&polled, nfds_t(polled.count), 1_000)
            for index in workers.indices.reversed() where polled[index].revents != 0 {
                var piece = [UInt8](repeating: 0, count: 1 << 16)
                let count = read(workers[index].descriptor, &piece, piece.count)
                if count > 0 {
                    workers[index].pending += piece[..<count]
                    while let end = workers[index].pending.firstIndex(of: 10) {
                        let line = String(
                            decoding: workers[index].pending[..<end], as: UTF8.self)
                        workers[index].pending.removeSubrange(...end)
                        let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
                        switch fields.first {
                        case "begin":
                            workers[index].seed = UInt64(fields[1])
                        case "end":
                            runCount += 1
                            if let seed = workers[index].seed, !fields[1].isEmpty {
                                note(String(fields[1]), String(fields[2]), seed)
                            }
                            workers[index].next += UInt64(options.jobCount)
                            workers[index].seed = nil
                        default:
                            sums[String(fields[0]), default: 0] += Int(fields[1]) ?? 0
                        }
                    }
                    continue
                }
                close(workers[index].descriptor)
                var status: Int32 = 0
                waitpid(workers[index].process, &status, 0)
                if let seed = workers[index].seed, status & 0x7F != 0 {
                    let text = "the process was killed by the signal \(status & 0x7F)"
                    note(text, text, seed)
                    workers[index] = start(
                        workers[index].index, from: seed + UInt64(options.jobCount))
                } else {
                    workers.remove(at: index)
                }
            }
        }
        for worker in workers { kill(worker.process, SIGKILL) }
        for worker in workers {
            sim_folder_replace(folder(worker.index), nil); rmdir(folder(worker.index))
        }
        report(groups, sums, runCount)
        return groups.isEmpty ? 0 : 1
    }

    private func report(_ groups: [String: Group], _ sums: [String: Int], _ runCount: Int) {
        let elapsed = sim_real_monotonic_ms() - begin
        print("\n\(runCount) runs in \(elapsed) ms with \(options.jobCount) processes")
        for (what, count) in sums.sorted(by: { $0.key < $1.key }) { print("  \(what): \(count)") }
        if groups.isEmpty { print("nothing found") }
        for (kind, group) in groups.sorted(by: { $0.value.count > $1.value.count }) {
            print(
                "\(group.count) × \(kind)\n    first seed \(group.seed), after \(group.milliseconds) ms; replay: blobd-simulator --seed \(group.seed) --trace"
            )
        }
    }

    private func folder(_ index: Int) -> String { "/dev/shm/blobd-simulator-\(getpid())-\(index)" }

    private func start(_ index: Int, from seed: UInt64) -> Worker {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { fatalError("pipe") }
        let folder = folder(index)
        fflush(nil)
        let process = sim_fork()
        if process == 0 {
            close(ends[0])
            work(from: seed, in: folder, to: ends[1])
            _exit(0)
        }
        close(ends[1])
        return Worker(index: index, process: process, descriptor: ends[0], next: seed)
    }

    /// What a worker does.
    private func work(from first: UInt64, in folder: String, to output: Int32) {
        func say(_ line: String) {
            let bytes = Array((line + "\n").utf8)
            _ = write(output, bytes, bytes.count)
        }
        var seed = first
        var sums: [String: Int] = [:]
        while seed <= options.seeds.upperBound {
            if let seconds = options.seconds,
                sim_real_monotonic_ms() - begin >= Int64(seconds) * 1_000
            {
                break
            }
            say("begin\t\(seed)")
            let result = Campaign.play(options.swarm(seed), in: folder)
            for (what, count) in result.reached { sums["reached, \(what)", default: 0] += count }
            sums["requests", default: 0] += result.counts.requests
            sums["faults", default: 0] += result.counts.faults
            sums["accidents", default: 0] += result.counts.accidents
            sums["operations", default: 0] += result.counts.operations
            sums["steps", default: 0] += result.counts.steps
            let text = (result.finding?.description ?? "").replacing("\n", with: " ").replacing(
                "\t", with: " ")
            say("end\t\(result.finding?.kind.replacing("\n", with: " ") ?? "")\t\(text)")
            seed += UInt64(options.jobCount)
        }
        for (what, count) in sums { say("\(what)\t\(count)") }
        sim_folder_replace(folder, nil)
        rmdir(folder)
    }
}
