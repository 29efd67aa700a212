import TestSupport

/// A change of a file's bytes or size, as the trace has it.
struct FileChange {
    enum Kind { case write, truncate, allocate, zero }

    let kind: Kind
    /// Where it begins in the file; 0 when the size is set.
    let offset: Int
    /// How many bytes it has, or the new size.
    var length: Int
    /// Where the trace has its bytes.
    var bytes: Int
    /// Where the trace has its call, and its return.
    let begin: Int
    var end: Int
    /// Whether ``Kind/zero`` may make the file longer.
    var extends = false
    /// From this place of the trace on it is on the disk, because a sync has returned.
    var coveredAt = Int.max

    /// Where it ends in the file.
    var limit: Int { offset + length }
}

/// A change of names in the folder.
struct NameChange {
    enum Kind {
        case create(file: Int)
        case rename(to: String)
        case unlink, makeFolder, removeFolder
    }

    let kind: Kind
    let name: String
    let begin: Int
    let end: Int
    var coveredAt = Int.max

    /// The folder whose sync covers it.
    var folder: String {
        var path = name
        if case .rename(let new) = kind { path = new }
        return path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
    }
}

/// Syncs that are to count for nothing, to show that it would be noticed.
struct IgnoredSyncs: Codable, Sendable {
    /// Leave out `fdatasync` and `fsync`.
    var calls = false
    /// Leave out that a descriptor was opened with `O_DSYNC`.
    var writes = false
    /// Only those of the file with this name, when there is one.
    var file: String?
    /// Only from this place of the trace on.
    var from = 0

    func contains(_ note: TraceNote, call: TraceNote) -> Bool {
        guard call.start >= from, file == nil || file == call.name else { return false }
        return note.kind == .synced ? writes : calls
    }
}

/// What happened to each file and name of the folder, from its creation on, and from when on each
/// change was sure to be on the disk.
struct DiskHistory {
    /// The changes of each file that ever was, in their order.
    private(set) var files: [[FileChange]] = []
    private(set) var names: [NameChange] = []
    /// From which place on a file may have been written to without a call.
    private(set) var mapped: [Int: Int] = [:]
    /// The places beside each sync and each synced write: before its call, behind it, before its
    /// return and behind that.
    private(set) var syncEdges: [Int] = []
    /// Every place between two notes, and what was noted before it.
    private(set) var edges: [(place: Int, words: String)] = []

    /// Which file an inode's number stands for now.
    private var current: [UInt64: Int] = [:]
    /// How many changes of each file, from the first on, are known to be covered.
    private var coveredCounts: [Int] = []
    private var calls: [UInt64: Call] = [:]

    private struct Call {
        let note: TraceNote
        /// Where a write stands.
        var place: (file: Int, change: Int)?
    }

    init(
        _ trace: borrowing Trace, on base: [BaseFile] = [],
        ignoring ignored: IgnoredSyncs = IgnoredSyncs()
    ) throws {
        for file in base {
            current[file.inode] = files.count
            names.append(
                NameChange(
                    kind: .create(file: files.count), name: file.name, begin: -1, end: -1,
                    coveredAt: -1))
            files.append([])
            coveredCounts.append(0)
        }
        for note in try trace.notes() {
            let words = try take(note, ignored)
            edges.append((note.end, words))
        }
    }

    /// Takes in a note. Returns what it says, in words.
    private mutating func take(_ note: TraceNote, _ ignored: IgnoredSyncs) throws -> String {
        switch note.kind {
        case .start:
            // What a killed daemon had under way never returned.
            calls = [:]
            return "the start of a daemon"
        case .map:
            guard let file = current[note.inode] else {
                throw TestFailure("\(note.name) was mapped and never created")
            }
            mapped[file] = min(note.start, mapped[file] ?? .max)
            return "map of \(note.name)"
        case .unknown:
            throw TestFailure("the daemon did what the recorder cannot follow: \(note.name)")
        case .done, .synced, .committed:
            guard let call = calls[note.sequence] else {
                throw TestFailure("a return without a call is at \(note.start) of the trace")
            }
            if note.kind == .committed || note.length >= 0 { try finish(call, note, ignored) }
            if note.kind == .done, call.note.kind != .write { calls[note.sequence] = nil }
            if call.note.kind == .sync || note.kind == .synced {
                syncEdges += [note.start, note.end]
            }
            let what = note.kind == .synced ? "synced" : "returned"
            return "\(call.note.kind) of \(call.note.name) \(what)"
        default:
            calls[note.sequence] = Call(note: note)
            if note.kind == .sync { syncEdges += [note.start, note.end] }
            return "\(note.kind) of \(note.name), at \(note.offset), \(note.bytes.count) bytes"
        }
    }

    private mutating func finish(
        _ call: Call, _ note: TraceNote, _ ignored: IgnoredSyncs
    ) throws {
        let begun = call.note
        var change = FileChange(
            kind: .write, offset: begun.offset, length: note.length, bytes: begun.bytes.lowerBound,
            begin: begun.start, end: note.end)
        switch begun.kind {
        case .write where note.kind == .synced:
            guard let place = call.place, !ignored.contains(note, call: begun) else { return }
            files[place.file][place.change].coveredAt = min(
                note.end, files[place.file][place.change].coveredAt)
        case .write:
            if note.kind == .committed { change.bytes = note.bytes.lowerBound }
            let file = try add(change, to: begun.inode, begun)
            calls[begun.sequence]?.place = (file, files[file].count - 1)
        case .truncate:
            change = FileChange(
                kind: .truncate, offset: 0, length: begun.length, bytes: 0, begin: begun.start,
                end: note.end)
            _ = try add(change, to: begun.inode, begun)
        case .allocate:
            let kind = try kindOfAllocation(begun)
            change = FileChange(
                kind: kind, offset: begun.offset, length: begun.length, bytes: 0,
                begin: begun.start, end: note.end, extends: begun.flags & 1 == 0)
            _ = try add(change, to: begun.inode, begun)
        case .sync:
            if !ignored.contains(note, call: begun) { try cover(begun, note) }
        case .create:
            current[note.inode] = files.count
            addName(.create(file: files.count), begun, note)
            files.append([])
            coveredCounts.append(0)
        case .rename: addName(.rename(to: begun.names[1]), begun, note)
        case .unlink: addName(.unlink, begun, note)
        case .makeFolder: addName(.makeFolder, begun, note)
        case .removeFolder: addName(.removeFolder, begun, note)
        case .start, .done, .synced, .unknown, .committed, .map: break
        }
    }

    /// The modes of `fallocate`: 0 allocates, 0x10 makes zeros, 0x02 makes holes, and 0x01 leaves
    /// the size.
    private func kindOfAllocation(_ note: TraceNote) throws -> FileChange.Kind {
        switch note.flags {
        case 0: return .allocate
        case 0x03, 0x10: return .zero
        default: throw TestFailure("a mode of fallocate is unknown: \(note.flags)")
        }
    }

    private mutating func add(
        _ change: FileChange, to inode: UInt64, _ note: TraceNote
    ) throws -> Int {
        guard let file = current[inode] else {
            throw TestFailure("\(note.name) was changed and never created")
        }
        files[file].append(change)
        return file
    }

    private mutating func addName(_ kind: NameChange.Kind, _ call: TraceNote, _ end: TraceNote) {
        names.append(
            NameChange(kind: kind, name: call.names[0], begin: call.start, end: end.end))
    }

    /// A sync covers what had returned before it was called.
    private mutating func cover(_ call: TraceNote, _ end: TraceNote) throws {
        if call.flags & 1 != 0 {
            for index in names.indices
            where names[index].folder == call.name && names[index].end <= call.start
                && names[index].coveredAt == .max
            {
                names[index].coveredAt = end.end
            }
            return
        }
        guard let file = current[call.inode] else {
            throw TestFailure("\(call.name) was synced and never created")
        }
        var index = coveredCounts[file]
        while index < files[file].count, files[file][index].end <= call.start {
            let before = files[file][index].coveredAt
            files[file][index].coveredAt = min(before, end.end)
            index += 1
        }
        coveredCounts[file] = index
    }
}
