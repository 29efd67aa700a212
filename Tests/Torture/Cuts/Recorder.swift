import Glibc
import TestSupport

/// A library that is loaded before a daemon's others (`LD_PRELOAD`), and notes what the daemon does
/// to the files of its folder, in the order in which it happens.
///
/// A call is noted before it is made, with its bytes, and once more when it has returned
/// (``TraceNote``). Calls that change a file are made one after the other, under a lock, so that
/// the notes have the order of the changes. Syncs are not: others go on writing meanwhile, as on a
/// disk, and a sync covers only what had returned before it was noted.
///
/// Files without a name are left out. What is written through a map is not seen: of a file that is
/// mapped for that, such as `lock.mdb`, only this is noted, and nobody may rely upon its bytes after
/// a cut. Whatever else the library cannot follow is noted as unknown and fails the scenario.
struct Recorder {
    /// The compiled library.
    let library: String
    /// Where the notes go; every daemon's behind the last one's.
    let trace: String

    /// Compiles the library into `folder`, where the trace will be, too.
    init(folder: String, log: String) throws {
        library = "\(folder)/recorder.so"
        trace = "\(folder)/trace"
        let source = "\(Files.package)/Tests/Torture/Cuts/recorder.c"
        try Files.write([], to: trace)
        let compile = ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-pthread"]
        let ending = try runToEnd(compile + ["-o", library, source], log: log)
        try require(ending == .exited(0), "cc did not compile the recorder: \(ending)")
    }

    /// The same library with a trace of its own, in a folder of its own.
    init(_ other: Recorder, folder: String) throws {
        library = other.library
        trace = "\(folder)/trace"
        try Files.write([], to: trace)
    }

    /// The command in front of a program that notes what it does in `folder`, which must be a path
    /// without links.
    func prefix(watching folder: String) -> [String] {
        ["env", "LD_PRELOAD=\(library)", "CUTS_TRACE=\(trace)", "CUTS_FOLDER=\(folder)"]
    }
}
