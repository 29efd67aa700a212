import Foundation
import TestSupport
import Testing

/// Which folder may use which. Arrows point one way, so that a folder can be read with what is below it alone.
@Suite struct RoomsTests {
    /// Each room stands above those that it uses. A module's name stands for all of its folders; a folder without its
    /// module is one of the same module. A folder in a room is a room of its own where it is named here.
    ///
    /// The first two rooms may be used by all others.
    static let allowed: [(room: String, uses: [String])] = rows(
        """
        Bytes:
        Notifications:
        LMDB:
        Zlib:
        BlobJSON:
        Hashing:

        ObjectStore/Values:
        ObjectStore/Access:       Values
        ObjectStore/Signing:      Hashing Values Access
        ObjectStore/Transport:    Values
        ObjectStore/Answers:      Values
        ObjectStore/Credentials:  BlobJSON Values Access Transport Answers
        ObjectStore/Client:       Hashing Values Access Signing Transport Answers Credentials
        ObjectStore/Probe:        Values Signing Client

        BlobStore/Values:         BlobJSON
        BlobStore/Threads:        Values
        BlobStore/Format:         BlobJSON Hashing Values
        BlobStore/Files:          LMDB Values
        BlobStore/Leases:         LMDB Values Format
        BlobStore/Integrity:      Values Format
        BlobStore/Memtable:       LMDB
        BlobStore/Replication/State: Values Format Leases
        BlobStore/Tables:         LMDB Values Format Files Leases Integrity Memtable
                                  Replication/State
        BlobStore/Blobs:          LMDB Hashing Zlib Values Format Files Leases Integrity Memtable
                                  Replication/State Tables
        BlobStore/Owners:         LMDB Hashing Values Format Tables
        BlobStore/Records:        LMDB BlobJSON Values Format Tables Blobs
        BlobStore/Replication/Outbox: LMDB Values Format Replication/State Tables
        BlobStore/Commit:         LMDB Values Threads Format Files Leases Memtable Replication/State
                                  Tables Blobs Owners Records Replication/Outbox
        BlobStore/Maintenance:    LMDB Hashing Values Format Files Leases Tables Blobs Records
                                  Commit
        BlobStore/Backup:         LMDB Hashing Values Format Leases Tables Blobs
        BlobStore:                LMDB Hashing Values Threads Format Files Leases Integrity Memtable
                                  Tables Blobs Owners Records Commit Maintenance Backup
        BlobStore/Replication:    LMDB Hashing BlobStore

        BlobProtocol/Shared:      BlobJSON
        BlobProtocol/Binary:      Shared
        BlobProtocol/HTTP:        Shared
        BlobProtocol/Links:       BlobJSON Hashing Shared HTTP

        BlobClient:               BlobProtocol BlobJSON Hashing Zlib

        Replication/Values:       BlobStore
        Replication/Bucket:       ObjectStore Values
        Replication/Objects:      BlobStore BlobJSON Hashing Bucket Values
        Replication/Log:          BlobStore Bucket Values Objects
        Replication/Following:    BlobStore Hashing Bucket Values Objects Log
        Replication/Leading:      BlobStore Hashing Bucket Values Objects Log
        Replication/Restoring:    BlobStore Bucket Values Objects Following Log Leading
        Replication/Roles:        BlobStore Bucket Values Objects Log Following Leading

        BlobServer/Net:           BlobStore
        BlobServer/Envelope:      BlobStore BlobJSON Hashing
        BlobServer/Walk:          BlobStore Net
        BlobServer/Limits:        BlobStore BlobProtocol Net
        BlobServer/Metrics:       BlobStore BlobProtocol Net Limits
        BlobServer/Logs:          BlobStore BlobProtocol Net Limits Metrics
        BlobServer/Writer:        BlobStore BlobProtocol ObjectStore Replication Net Limits Metrics
                                  Logs
        BlobServer/Handlers:      BlobStore BlobProtocol BlobJSON ObjectStore Envelope Net Limits
                                  Metrics Logs Writer
        BlobServer/Connections:   BlobStore BlobProtocol Net Limits Metrics Logs Writer Handlers
        BlobServer/Replicas:      BlobStore BlobProtocol ObjectStore Replication Net Limits Logs
                                  Writer
        BlobServer/Daemon:        BlobStore BlobProtocol Replication Net Limits Walk Metrics Logs
                                  Writer Handlers Connections Replicas

        blobd/Terminal:           BlobClient BlobProtocol
        blobd/Configuration:      BlobServer/Net BlobServer/Limits BlobStore BlobClient BlobProtocol
                                  ObjectStore Terminal
        blobd/Doctor:             BlobServer/Net BlobServer/Limits BlobStore BlobClient BlobProtocol
                                  Terminal Configuration
        blobd/Top:                BlobServer/Metrics BlobClient BlobProtocol Terminal Configuration
        blobd/Commands:           Top BlobServer/Daemon BlobServer/Limits BlobServer/Logs
                                  BlobServer/Metrics BlobServer/Net BlobServer/Walk ObjectStore
                                  Replication BlobStore BlobClient BlobProtocol BlobJSON Terminal
                                  Configuration
        blobd:                    BlobServer/Limits BlobClient blobd
        """)

    private static func rows(_ table: String) -> [(room: String, uses: [String])] {
        var rows: [(room: String, uses: [String])] = []
        for word in table.split(whereSeparator: \.isWhitespace) {
            if word.hasSuffix(":") {
                rows.append((String(word.dropLast()), []))
            } else {
                rows[rows.count - 1].uses.append(String(word))
            }
        }
        let rooms = Set(rows.map(\.room))
        return rows.map { room, uses in
            (
                room,
                uses.map { use in
                    let own = "\(Sources.module(of: room))/\(use)"
                    return rooms.contains(own) ? own : use
                }
            )
        }
    }

    private static let shared = allowed.prefix(2).map(\.room)

    @Test("Every use of another folder's types is in the table")
    func arrows() throws {
        let sources = try Sources()
        for (arrow, example) in sources.arrows {
            let uses = try #require(
                Self.allowed.first { $0.room == arrow.from }
                    ?? Self.allowed.first { arrow.from.hasPrefix($0.room + "/") },
                "\(arrow.from) is not in the table"
            ).uses
            #expect(
                Self.room(arrow.from, holds: arrow.to) || Self.shared.contains(arrow.to)
                    || uses.contains { arrow.to == $0 || arrow.to.hasPrefix($0 + "/") },
                "\(arrow.from) uses \(arrow.to): \(example)")
        }
        #expect(sources.arrows.count > 50, "the sources were not read")
    }

    @Test("Nothing in the table points back")
    func noCircles() {
        for (index, row) in Self.allowed.enumerated() {
            for use in row.uses where use != row.room {
                let isAbove = Self.allowed[..<index].contains {
                    $0.room == use || $0.room.hasPrefix(use + "/")
                }
                #expect(isAbove, "\(row.room) is allowed to use \(use), which comes later")
            }
        }
    }

    /// Whether two folders are one room: a module that is a row of its own.
    private static func room(_ from: String, holds to: String) -> Bool {
        let module = String(from.prefix { $0 != "/" })
        return to.prefix { $0 != "/" } == module
            && !allowed.contains { $0.room.hasPrefix(module + "/") }
    }
}

/// Who uses whose types in the folder `Sources`: a mention of a type that one folder alone declares is an arrow to it.
private struct Sources {
    struct Arrow: Hashable {
        var from, to: String
    }

    /// Each arrow with an example.
    private(set) var arrows: [Arrow: String] = [:]

    init() throws {
        let root = URL(fileURLWithPath: Files.package)
            .appendingPathComponent("Sources")
        var files: [(room: String, name: String, words: [String], imports: Set<String>)] = []
        var owners: [String: Set<String>] = [:]
        let found = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
        for case let file as URL in try #require(found) where file.pathExtension == "swift" {
            let folders = file.deletingLastPathComponent().pathComponents
                .dropFirst(root.pathComponents.count)
            let inner = folders.prefix(3).joined(separator: "/")
            let isRoom = RoomsTests.allowed.contains { $0.room == inner }
            let room = isRoom ? inner : folders.prefix(2).joined(separator: "/")
            let words = Self.words(of: try Files.read(file.path))
            for (keyword, name) in zip(words, words.dropFirst())
            where Self.keywords.contains(keyword) && name.first?.isUppercase == true {
                owners[name, default: []].insert(room)
            }
            var imports: Set = [Self.module(of: room)]
            for (keyword, name) in zip(words, words.dropFirst()) where keyword == "import" {
                imports.insert(name)
            }
            files.append((room, file.lastPathComponent, words, imports))
        }
        for file in files {
            for word in file.words {
                // A generic parameter may be called as a type of a module that is not imported.
                guard let rooms = owners[word], rooms.count == 1, let to = rooms.first,
                    to != file.room, file.imports.contains(Self.module(of: to))
                else { continue }
                arrows[Arrow(from: file.room, to: to)] = "\(file.name) names \(word)"
            }
        }
    }

    private static let keywords: Set<String> = [
        "struct", "class", "enum", "actor", "protocol", "typealias",
    ]

    static func module(of room: String) -> String { String(room.prefix { $0 != "/" }) }

    /// The identifiers of a source, without its comments and strings.
    private static func words(of source: [UInt8]) -> [String] {
        var words: [String] = []
        var isInText = false
        for line in source.split(separator: UInt8(ascii: "\n")) {
            // An odd number of `"""` begins or ends a text of several lines.
            if Array(line).firstRange(of: [0x22, 0x22, 0x22]) != nil {
                isInText.toggle()
                continue
            }
            if isInText { continue }
            var word: [UInt8] = []
            var (isQuoted, previous) = (false, UInt8(0))
            for byte in line {
                if byte == UInt8(ascii: "/"), previous == byte, !isQuoted { break }
                if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
                previous = byte
                if !isQuoted, isOfWord(byte) {
                    word.append(byte)
                } else if !word.isEmpty {
                    words.append(String(decoding: word, as: UTF8.self))
                    word.removeAll(keepingCapacity: true)
                }
            }
            if !word.isEmpty { words.append(String(decoding: word, as: UTF8.self)) }
        }
        return words
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: byte >= 0x80
        }
    }
}
