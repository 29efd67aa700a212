import BlobStore

// Pages of an owner's feed and history, 100 notifications each.

extension Subjects {
    private static let pageCount = 100
    private static let owner = "user-1"

    static var feeds: [Subject] {
        [
            Subject("100 times mdb_get twice, in C") {
                let fixture = try Fixture(count: pageCount, byteCount: 64)
                let store = try CStore(fixture)
                let ids = fixture.ids.map { Array($0.utf8) }
                return { count in
                    for _ in 0..<count {
                        for id in ids {
                            guard store.read(id) >= 64 else {
                                throw SubjectFailure(reason: "not there")
                            }
                        }
                    }
                }
            },
            Subject("page of 100 changes") {
                let (fixture, store) = try owned()
                return { count in
                    for _ in 0..<count {
                        let page = try store.changes(of: owner, from: .beginning, limit: pageCount)
                        guard page.changes.count == pageCount else {
                            throw SubjectFailure(reason: "another page")
                        }
                        use(page.revision)
                    }
                    withExtendedLifetime(fixture) {}
                }
            },
            Subject("page of 100 of a history") {
                let (fixture, store) = try owned()
                return { count in
                    for _ in 0..<count {
                        let page = try store.history(of: owner, HistoryQuery(), asOf: Fixture.now)
                        guard page.records.count == pageCount else {
                            throw SubjectFailure(reason: "another page")
                        }
                        use(page.records[0].revision)
                    }
                    withExtendedLifetime(fixture) {}
                }
            },
        ]
    }

    /// A store in which one owner has 100 notifications among 1,000.
    private static func owned() throws -> (Fixture, BlobStore) {
        let fixture = try Fixture(count: 1_000, byteCount: 64)
        let store = try fixture.openForWriting()
        let changes = try (0..<pageCount).map { index in
            var publication = try Fixture.publication(
                store, fixture.ids[index * 10], Fixture.bytes(64, seed: UInt64(index) + 1))
            publication.owner = owner
            publication.message = "The autumn collection is here"
            return Change.publish(publication)
        }
        try Fixture.apply(changes, to: store)
        return (fixture, store)
    }
}
