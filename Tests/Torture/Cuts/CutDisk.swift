import Glibc
import TestSupport

/// A disk on which the traced changes happen, up to places of the trace that come in ascending
/// order, and the folders that power cuts there leave behind.
struct CutDisk: ~Copyable {
    /// What a disk writes whole or not at all.
    static let sectorByteCount = 512

    private let history: DiskHistory
    private let trace: Trace
    /// Where the files are, under their numbers, with what is covered: the longest run of changes,
    /// from the first on, each of which is.
    private let base: String
    private var counts: [Int]
    private var descriptors: [Int32] = []
    private var place = 0
    private var buffer: [UInt8] = []

    /// - Parameter files: what was there before the trace, in the order of the history.
    init(
        _ history: DiskHistory, _ trace: consuming Trace, on files: [BaseFile], base: String
    ) throws {
        self.history = history
        self.trace = trace
        self.base = base
        counts = Array(repeating: 0, count: history.files.count)
        for number in history.files.indices {
            descriptors.append(try Self.create("\(base)/\(number)"))
        }
        for (number, file) in files.enumerated() {
            let source = open(file.copy, O_RDONLY | O_CLOEXEC)
            try require(source >= 0, "\(file.copy): \(words(errno))")
            defer { close(source) }
            try copy(source, to: descriptors[number])
        }
    }

    deinit { for descriptor in descriptors { close(descriptor) } }

    private static func create(_ path: String) throws -> Int32 {
        let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        try require(descriptor >= 0, "\(path) cannot be made: \(words(errno))")
        return descriptor
    }

    /// What a cut has left.
    struct Remains {
        /// Which files it has.
        var names: [String] = []
        /// What became of the changes that no sync covers, in words.
        var words = "nothing unsynced"
    }

    /// Makes `folder`, which is not there, what a disk may have after a cut at `place`.
    mutating func cut(
        at place: Int, into folder: String, using generator: inout SeededGenerator
    ) throws -> Remains {
        precondition(place >= self.place, "places come in ascending order")
        self.place = place
        try advance()
        try makeFolder(folder)
        var said: [String] = []
        var remains = Remains()
        // One way for all files, or one for each.
        let shared = generator.chance(50) ? Survival.allCases.randomElement(using: &generator) : nil
        for (name, file) in try names(in: folder, using: &generator).sorted(by: { $0.key < $1.key })
        {
            remains.names.append(name)
            let descriptor = try Self.create("\(folder)/\(name)")
            defer { close(descriptor) }
            let survival =
                shared ?? Survival.allCases.randomElement(using: &generator) ?? .none
            let open = try write(file, to: descriptor, survival, using: &generator)
            if let mapped = history.mapped[file], mapped < place {
                try spoil(descriptor, using: &generator)
            }
            if open > 0 { said.append("of \(open) unsynced in \(name) \(survival.words)") }
        }
        if !said.isEmpty { remains.words = said.joined(separator: ", ") }
        return remains
    }

    private mutating func advance() throws {
        for (file, changes) in history.files.enumerated() {
            while counts[file] < changes.count, changes[counts[file]].coveredAt <= place {
                try apply(changes[counts[file]], to: descriptors[file])
                counts[file] += 1
            }
        }
    }

    private func makeFolder(_ path: String) throws {
        try require(mkdir(path, 0o700) == 0, "\(path) cannot be made: \(words(errno))")
    }

    /// The files that have names. Of the changes of names that no sync covers there are all, none,
    /// or those up to one of them: file systems keep their order.
    private func names(
        in folder: String, using generator: inout SeededGenerator
    ) throws -> [String: Int] {
        let changes = history.names.filter { $0.begin < place }
        let open = changes.count { $0.coveredAt > place }
        var remaining =
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: 0
            case 1: open
            default: Int.random(in: 0...open, using: &generator)
            }
        var files: [String: Int] = [:]
        var folders: Set<String> = []
        for change in changes {
            if change.coveredAt > place {
                guard remaining > 0 else { continue }
                remaining -= 1
            }
            switch change.kind {
            case .create(let file): files[change.name] = file
            case .rename(let new):
                if let file = files.removeValue(forKey: change.name) { files[new] = file }
            case .unlink: files[change.name] = nil
            case .makeFolder: folders.insert(change.name)
            case .removeFolder: folders.remove(change.name)
            }
        }
        for path in folders.sorted() { try makeFolder("\(folder)/\(path)") }
        return files.filter { name, _ in
            // Its folder may not be there.
            guard let slash = name.lastIndex(of: "/") else { return true }
            return folders.contains(String(name[..<slash]))
        }
    }

    /// Writes a file as the cut leaves it. Returns how many changes no sync covered.
    private mutating func write(
        _ file: Int, to descriptor: Int32, _ survival: Survival,
        using generator: inout SeededGenerator
    ) throws -> Int {
        try copy(descriptors[file], to: descriptor)
        let changes = history.files[file][counts[file]...].prefix { $0.begin < place }
        let open = changes.count { $0.coveredAt > place }
        let sizes = SizeSurvival.allCases.randomElement(using: &generator) ?? .withBytes
        let percent = [10, 50, 90].randomElement(using: &generator) ?? 50
        let keptCount = Int.random(in: 0...open, using: &generator)
        var number = 0
        for change in changes {
            if change.coveredAt <= place {
                try apply(change, to: descriptor)
                continue
            }
            number += 1
            let isIn =
                switch survival {
                case .none: false
                case .all: true
                case .last: number == open
                case .prefix: number <= keptCount
                case .some, .sectors: generator.chance(percent)
                case .firstSectors: true
                case .firstPages: change.offset < 8_192
                }
            if change.kind == .write, survival == .sectors || survival == .firstSectors {
                try applyPart(
                    of: change, to: descriptor, survival, sizes, percent, using: &generator)
            } else if isIn {
                try apply(change, to: descriptor)
            } else if change.kind == .write, sizes == .ahead, survival != .none {
                try extend(descriptor, to: change.limit)
            }
        }
        return open
    }

    // MARK: Changes of one file

    private mutating func apply(_ change: FileChange, to descriptor: Int32) throws {
        switch change.kind {
        case .write:
            try load(change)
            try put(change.offset..<change.limit, of: change, to: descriptor)
        case .truncate:
            try require(
                ftruncate(descriptor, off_t(change.length)) == 0, "ftruncate: \(words(errno))")
        case .allocate:
            try extend(descriptor, to: change.limit)
        case .zero:
            if change.extends { try extend(descriptor, to: change.limit) }
            let end = min(change.limit, Self.byteCount(of: descriptor))
            guard change.offset < end else { return }
            let zeros = [UInt8](repeating: 0, count: end - change.offset)
            let count = pwrite(descriptor, zeros, zeros.count, off_t(change.offset))
            try require(count == zeros.count, "an image cannot be written: \(words(errno))")
        }
    }

    private mutating func applyPart(
        of change: FileChange, to descriptor: Int32, _ survival: Survival, _ sizes: SizeSurvival,
        _ percent: Int, using generator: inout SeededGenerator
    ) throws {
        try load(change)
        let size = Self.byteCount(of: descriptor)
        let sectors = change.offset / Self.sectorByteCount
        let end = (change.limit + Self.sectorByteCount - 1) / Self.sectorByteCount
        let firstCount = Int.random(in: 0...end - sectors, using: &generator)
        var run: Range<Int>?
        for sector in sectors..<end {
            let isIn =
                survival == .firstSectors
                ? sector - sectors < firstCount : generator.chance(percent)
            var bytes = sector * Self.sectorByteCount..<(sector + 1) * Self.sectorByteCount
            bytes = bytes.clamped(to: change.offset..<change.limit)
            // What lies behind the end of the file cannot be read.
            if sizes == .behind { bytes = bytes.clamped(to: 0..<max(size, bytes.lowerBound)) }
            if isIn, !bytes.isEmpty {
                run = (run?.lowerBound ?? bytes.lowerBound)..<bytes.upperBound
            } else if let whole = run {
                try put(whole, of: change, to: descriptor)
                run = nil
            }
        }
        if let run { try put(run, of: change, to: descriptor) }
        if sizes == .ahead { try extend(descriptor, to: change.limit) }
    }

    /// What was written through a map may be on the disk or not, bit by bit: the file has what is
    /// known of it, or zeros, or rubbish.
    private func spoil(
        _ descriptor: Int32, using generator: inout SeededGenerator
    ) throws {
        let kind = Int.random(in: 0..<3, using: &generator)
        if kind == 0 { return }
        let wordCount = Self.byteCount(of: descriptor) / 8
        let rubbish = (0..<wordCount).map { _ in kind == 1 ? 0 : generator.next() }
        let count = rubbish.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        try require(count == wordCount * 8, "an image cannot be written: \(words(errno))")
    }

    /// Reads a write's bytes into the buffer.
    private mutating func load(_ change: FileChange) throws {
        if buffer.count < change.length {
            buffer = [UInt8](repeating: 0, count: change.length)
        }
        try buffer.withUnsafeMutableBytes {
            try trace.read(
                into: UnsafeMutableRawBufferPointer(rebasing: $0[..<change.length]),
                at: change.bytes)
        }
    }

    /// Writes a range of the file from the buffer, which has the whole change.
    private func put(_ range: Range<Int>, of change: FileChange, to descriptor: Int32) throws {
        let count = buffer.withUnsafeBytes {
            pwrite(
                descriptor, $0.baseAddress.map { $0 + (range.lowerBound - change.offset) },
                range.count, off_t(range.lowerBound))
        }
        try require(count == range.count, "an image cannot be written: \(words(errno))")
    }

    private func extend(_ descriptor: Int32, to byteCount: Int) throws {
        guard Self.byteCount(of: descriptor) < byteCount else { return }
        try require(ftruncate(descriptor, off_t(byteCount)) == 0, "ftruncate: \(words(errno))")
    }

    private static func byteCount(of descriptor: Int32) -> Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }

    // SEEK_DATA and SEEK_HOLE, which Glibc leaves out without _GNU_SOURCE.
    private static let seekData: Int32 = 3
    private static let seekHole: Int32 = 4

    /// Copies a file with its holes.
    private mutating func copy(_ source: Int32, to target: Int32) throws {
        let size = Self.byteCount(of: source)
        try extend(target, to: size)
        if buffer.count < 1 << 20 { buffer = [UInt8](repeating: 0, count: 1 << 20) }
        var offset = 0
        while offset < size {
            let data = lseek(source, off_t(offset), Self.seekData)
            // ENXIO: nothing but a hole is left.
            guard data >= 0 else { return }
            let hole = Int(lseek(source, data, Self.seekHole))
            offset = Int(data)
            while offset < hole {
                let count = pread(source, &buffer, min(buffer.count, hole - offset), off_t(offset))
                try require(count > 0, "a base cannot be read: \(words(errno))")
                let written = pwrite(target, buffer, count, off_t(offset))
                try require(written == count, "an image cannot be written: \(words(errno))")
                offset += count
            }
        }
    }
}
