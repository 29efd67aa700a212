import BlobStore
import CSubjects
import Glibc

// Payloads read in process, one after the other, from 1,000 that fit the caches.

extension Subjects {
    private static let count = 1_000

    static var storeReads: [Subject] {
        [
            Subject("memcpy of 1 KiB") {
                let source = Fixture.bytes(1_024, seed: 1)
                return { count in
                    var target = [UInt8](repeating: 0, count: source.count)
                    for step in 0..<count {
                        target.withUnsafeMutableBytes { target in
                            source.withUnsafeBytes { target.copyMemory(from: $0) }
                        }
                        use(UInt64(target[step & 1_023]))
                    }
                }
            },
            Subject("pread of 1 KiB", tolerancePercent: 10) {
                let file = try TemporaryFile(byteCount: 1 << 20)
                return { count in
                    var target = [UInt8](repeating: 0, count: 1_024)
                    for step in 0..<count {
                        let read = target.withUnsafeMutableBytes {
                            pread(file.descriptor, $0.baseAddress, 1_024, (step & 1_023) << 10)
                        }
                        guard read == 1_024 else { throw SubjectFailure(reason: "pread") }
                    }
                }
            },
            Subject("mdb_get twice, in C") {
                let fixture = try Fixture(count: Self.count, byteCount: 1_024)
                let store = try CStore(fixture)
                let ids = fixture.ids.map { Array($0.utf8) }
                return { count in
                    for step in 0..<count {
                        guard store.read(ids[step % Self.count]) >= 1_024 else {
                            throw SubjectFailure(reason: "not there")
                        }
                    }
                }
            },
            read("withPayload, 1 KiB", byteCount: 1_024),
            // Each begins with a lock that tells the writing process which commit it sees.
            read("withPayload, 1 KiB, another process", byteCount: 1_024) {
                try $0.openForReading()
            },
            read("withPayload, 64 KiB, 2 chunks", byteCount: 64 << 10),
            read("withPayload, 1 MiB, 17 chunks", byteCount: 1 << 20),
            held("in a snapshot for 256, 1 KiB", byteCount: 1_024),
            Subject("ownedPayload, 1 KiB") {
                let fixture = try Fixture(count: Self.count, byteCount: 1_024)
                let store = try fixture.openForWriting()
                return { count in
                    for step in 0..<count {
                        let id = fixture.ids[step % Self.count]
                        guard let bytes = try store.ownedPayload(for: id, asOf: Fixture.now) else {
                            throw SubjectFailure(reason: "not there")
                        }
                        use(UInt64(bytes[0]))
                    }
                }
            },
        ]
    }

    private static func read(
        _ name: String, byteCount: Int,
        in open: @escaping @Sendable (Fixture) throws -> BlobStore = { try $0.openForWriting() }
    ) -> Subject {
        Subject(name) {
            let kept = byteCount > 4_096 ? 16 : Self.count
            let fixture = try Fixture(count: kept, byteCount: byteCount)
            let store = try open(fixture)
            return { count in
                for step in 0..<count {
                    let sum = try store.withPayload(
                        for: fixture.ids[step % kept], asOf: Fixture.now
                    ) { payload in
                        var sum: UInt64 = 0
                        for index in 0..<payload.chunkCount {
                            sum &+= UInt64(try payload.storedChunk(index).byteCount)
                        }
                        return sum
                    }
                    guard sum == UInt64(byteCount) else { throw SubjectFailure(reason: name) }
                }
            }
        }
    }

    private static func held(_ name: String, byteCount: Int) -> Subject {
        Subject(name) {
            let fixture = try Fixture(count: Self.count, byteCount: byteCount)
            let store = try fixture.openForWriting()
            let ids = fixture.ids.map { Array($0.utf8) }
            return { count in
                var step = 0
                while step < count {
                    let end = min(step + 256, count)
                    try store.withSnapshot { (snapshot) throws(StoreError) in
                        while step < end {
                            let id = ids[step % Self.count]
                            if case .found(let payload) = try snapshot.payload(
                                for: id.span.bytes, part: RawSpan(), asOf: Fixture.now)
                            {
                                use(UInt64(try payload.storedChunk(0).byteCount))
                            }
                            step += 1
                        }
                    }
                }
            }
        }
    }
}

// What is not there, or no longer: devices ask for it all the time.

extension Subjects {
    static var misses: [Subject] {
        [
            Subject("mdb_get of what is not there, in C") {
                let store = try CStore(try Fixture(count: 1_000, byteCount: 64))
                let id = Array("notification-9999999".utf8)
                return { count in
                    for _ in 0..<count {
                        let found = id.withUnsafeBytes {
                            c_lookups_miss(store.handle, $0.baseAddress, $0.count)
                        }
                        guard found == 0 else { throw SubjectFailure(reason: "it is there") }
                    }
                }
            },
            miss("withPayload, no such notification", id: "notification-9999999"),
            miss("withPayload, no such part", id: "notification-1000500", part: "thumbnail"),
            miss(
                "withPayload, expired", id: "notification-1000500",
                now: Fixture.now.adding(seconds: 864_000)),
        ]
    }

    private static func miss(
        _ name: String, id: String, part: String = "payload", now: Timestamp = Fixture.now
    ) -> Subject {
        Subject(name) {
            let fixture = try Fixture(count: 1_000, byteCount: 64)
            let store = try fixture.openForWriting()
            return { count in
                for _ in 0..<count {
                    let found = try store.withPayload(for: id, part: part, asOf: now) {
                        $0.byteCount
                    }
                    guard found == nil else { throw SubjectFailure(reason: "\(name): found") }
                }
                withExtendedLifetime(fixture) {}
            }
        }
    }
}
