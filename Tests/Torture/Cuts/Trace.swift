import Glibc
import TestSupport

/// One note of the recorder (``Recorder``).
struct TraceNote {
    enum Kind: UInt64 {
        case start = 1
        case write, truncate, allocate, sync, create, rename, unlink, makeFolder, removeFolder
        /// The call of the same number has returned.
        case done
        /// The bytes of the write of the same number are on the disk (`O_DSYNC`).
        case synced
        case unknown
        /// What a killed daemon's last write left in the file; see ``Trace/complete(in:)``.
        case committed
        /// The file is mapped, and may be written to without a call.
        case map
    }

    static let headByteCount = 72
    static let magic: UInt64 = 0x5354_5543_4442_4F4C
    /// Bytes that a file's name has at most, and twice as many for two names.
    static let nameByteCountMax = 8_192

    let kind: Kind
    /// Which call of its daemon, from 1.
    let sequence: UInt64
    let inode: UInt64
    let offset: Int
    /// A size, or with ``Kind/done`` what the call returned, or an error's number below 0.
    let length: Int
    let flags: UInt64
    /// The file's name inside the folder; of two the second is behind two slashes.
    let name: String
    /// Where in the trace the note begins, its bytes begin, and it ends.
    let start: Int
    let bytes: Range<Int>
    var end: Int { bytes.upperBound }

    /// The name, or of a rename both.
    var names: [String] {
        guard kind == .rename else { return [name] }
        let names = name.split(separator: "//", maxSplits: 1).map { String($0) }
        return names.count == 2 ? names : [name, name]
    }
}

/// The notes of one daemon, or of several one after the other.
struct Trace: ~Copyable {
    let path: String
    let descriptor: Int32

    init(_ path: String) throws {
        self.path = path
        descriptor = open(path, O_RDWR | O_CLOEXEC)
        try require(descriptor >= 0, "\(path): \(words(errno))")
    }

    deinit { close(descriptor) }

    /// How long the trace at `path` is now. Whatever was noted before lies below.
    static func byteCount(at path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// All notes that are whole.
    borrowing func notes() throws -> [TraceNote] {
        let byteCount = Trace.byteCount(at: path)
        var notes: [TraceNote] = []
        var place = 0
        while let note = try note(at: place, byteCount) {
            notes.append(note)
            place = note.end
        }
        return notes
    }

    private borrowing func note(at start: Int, _ byteCount: Int) throws -> TraceNote? {
        guard byteCount - start >= TraceNote.headByteCount else { return nil }
        var fields = [UInt64](repeating: 0, count: TraceNote.headByteCount / 8)
        try fields.withUnsafeMutableBytes { try read(into: $0, at: start) }
        let nameCount = Int(clamping: fields[7])
        let dataCount = Int(clamping: fields[8])
        guard fields[0] == TraceNote.magic, let kind = TraceNote.Kind(rawValue: fields[1]),
            nameCount <= TraceNote.nameByteCountMax, dataCount <= 1 << 32
        else { throw TestFailure("there is no note at \(start) of the trace") }
        let data = start + TraceNote.headByteCount + nameCount
        guard data + dataCount <= byteCount else { return nil }
        var name = [UInt8](repeating: 0, count: nameCount)
        try name.withUnsafeMutableBytes {
            try read(into: $0, at: start + TraceNote.headByteCount)
        }
        return TraceNote(
            kind: kind, sequence: fields[2], inode: fields[3],
            offset: Int(Int64(bitPattern: fields[4])), length: Int(Int64(bitPattern: fields[5])),
            flags: fields[6], name: String(decoding: name, as: UTF8.self), start: start,
            bytes: data..<data + dataCount)
    }

    /// Fills a buffer from the trace.
    borrowing func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = pread(descriptor, rest.baseAddress, rest.count, off_t(offset + filled))
            if count < 0, errno == EINTR { continue }
            try require(count > 0, "the trace ends at \(offset + filled)")
            filled += count
        }
    }

    /// After a kill: cuts off a note that is not whole, and notes what became of the one call that
    /// was under way, so that the trace has what the next daemon finds in `folder`.
    borrowing func complete(in folder: String) throws {
        let notes = try notes()
        try require(
            ftruncate(descriptor, off_t(notes.last?.end ?? 0)) == 0, "ftruncate: \(words(errno))")
        var open: [UInt64: TraceNote] = [:]
        for note in notes {
            switch note.kind {
            case .start: open = [:]
            case .done, .committed: open[note.sequence] = nil
            // A sync that has not returned has covered nothing.
            case .sync, .synced, .unknown, .map: break
            default: open[note.sequence] = note
            }
        }
        try require(open.count <= 1, "\(open.count) calls were under way at once")
        if let note = open.values.first { try complete(note, in: folder) }
    }

    private borrowing func complete(_ note: TraceNote, in folder: String) throws {
        let name = note.names[0]
        var status = stat()
        let isThere = lstat("\(folder)/\(name)", &status) == 0
        let size = Int(status.st_size)
        switch note.kind {
        case .write:
            let wanted = note.offset..<note.offset + note.bytes.count
            let there = wanted.clamped(to: 0..<max(size, 0))
            var bytes = [UInt8](repeating: 0, count: there.count)
            if !there.isEmpty {
                let file = Glibc.open("\(folder)/\(name)", O_RDONLY | O_CLOEXEC)
                defer { close(file) }
                let count = pread(file, &bytes, bytes.count, off_t(there.lowerBound))
                try require(count == bytes.count, "\(name) cannot be read: \(words(errno))")
            }
            try append(.committed, note, inode: note.inode, length: bytes.count, bytes)
        case .truncate where size == note.length,
            .allocate where size >= note.offset + note.length,
            .create where isThere:
            try append(.done, note, inode: UInt64(status.st_ino), length: 0, [])
        case .rename where !isThere, .unlink where !isThere, .removeFolder where !isThere,
            .makeFolder where isThere:
            try append(.done, note, inode: 0, length: 0, [])
        default:
            // It was not made.
            try append(.done, note, inode: 0, length: -Int(EINTR), [])
        }
    }

    private borrowing func append(
        _ kind: TraceNote.Kind, _ note: TraceNote, inode: UInt64, length: Int, _ bytes: [UInt8]
    ) throws {
        let fields: [UInt64] = [
            TraceNote.magic, kind.rawValue, note.sequence, inode,
            UInt64(bitPattern: Int64(note.offset)), UInt64(bitPattern: Int64(length)), 0, 0,
            UInt64(bytes.count),
        ]
        let all = fields.withUnsafeBytes { Array($0) } + bytes
        let end = lseek(descriptor, 0, SEEK_END)
        let count = pwrite(descriptor, all, all.count, end)
        try require(count == all.count, "the trace cannot be written: \(words(errno))")
    }
}
