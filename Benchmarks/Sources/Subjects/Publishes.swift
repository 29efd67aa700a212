import BlobStore
import Glibc

// Payloads published, each time with bytes that the store does not have.

extension Subjects {
    static var publishes: [Subject] {
        [
            Subject("pwrite of 1 KiB and fdatasync", tolerancePercent: 10, isSlow: true) {
                let file = try TemporaryFile(byteCount: 1 << 20)
                let bytes = Fixture.bytes(1_024, seed: 1)
                return { count in
                    for step in 0..<count {
                        let written = bytes.withUnsafeBytes {
                            pwrite(file.descriptor, $0.baseAddress, 1_024, (step & 1_023) << 10)
                        }
                        guard written == 1_024, fdatasync(file.descriptor) == 0 else {
                            throw SubjectFailure(reason: "pwrite: errno \(errno)")
                        }
                    }
                }
            },
            Subject("prepare 1 KiB: digest and checksums") {
                try prepare(byteCount: 1_024)
            },
            Subject("prepare 128 KiB: digest and checksums", isSlow: true) {
                try prepare(byteCount: 128 << 10)
            },
            publish("publish 1 KiB", byteCount: 1_024, together: 1),
            publish("publish 1 KiB, 64 in a sync", byteCount: 1_024, together: 64),
            publish("publish 128 KiB", byteCount: 128 << 10, together: 1),
            publish("publish 1 KiB to an owner", byteCount: 1_024, together: 1, ownerCount: 50),
        ]
    }

    private static func prepare(byteCount: Int) throws -> Subject.Work {
        let fixture = try Fixture(count: 1, byteCount: 64)
        let store = try fixture.openForWriting()
        let bytes = Fixture.bytes(byteCount, seed: 2)
        return { count in
            for _ in 0..<count {
                var writer = store.makePayloadWriter()
                try writer.append(bytes.span.bytes)
                use(UInt64(try writer.finish(mediaType: "image/png").storedByteCount))
            }
            withExtendedLifetime(fixture) {}
        }
    }

    /// `together` payloads of a batch; a count is a batch. They go to `ownerCount` owners one after the other.
    private static func publish(
        _ name: String, byteCount: Int, together: Int, ownerCount: Int = 0
    ) -> Subject {
        Subject(name, tolerancePercent: 10, isSlow: true) {
            let fixture = try Fixture(count: 1_000, byteCount: 64)
            let store = try fixture.openForWriting()
            let given = Fixture.bytes(byteCount, seed: 3)
            return { count in
                var bytes = given
                for step in 0..<count {
                    let changes = try (0..<together).map { index in
                        withUnsafeBytes(of: step * together + index) {
                            bytes.replaceSubrange(0..<8, with: $0)
                        }
                        let id = fixture.ids[(step * together + index) % fixture.ids.count]
                        var publication = try Fixture.publication(store, id, bytes)
                        if ownerCount > 0 { publication.owner = "user-\(step % ownerCount)" }
                        return Change.publish(publication)
                    }
                    try Fixture.apply(changes, to: store)
                    if step % 16 == 15 { _ = try store.freeOrphans(byteCountMax: 8 << 20) }
                }
            }
        }
    }
}
