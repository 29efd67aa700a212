import BlobStore
import CSubjects

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
            let store = try fixture.openForReading()
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
