internal import CLoad

/// The processor time that the generator's thread and the server's processes have used so far, in
/// nanoseconds.
struct ProcessorTimes {
    var generator: Int64
    var generatorUser: Int64
    /// Nil when there are no processes, or the time of one cannot be read.
    var server: Int64?

    /// Takes them now, for the calling thread. Costs a system call for each.
    static func now(of processes: [Int32]) -> ProcessorTimes {
        var server: Int64? = processes.isEmpty ? nil : 0
        for process in processes {
            let time = cload_process_time_ns(process)
            server = time < 0 ? nil : server.map { $0 + time }
        }
        return ProcessorTimes(
            generator: cload_thread_time_ns(), generatorUser: cload_thread_user_time_ns(),
            server: server)
    }
}
