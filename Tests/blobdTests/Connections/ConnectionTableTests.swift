import BlobStore
import CLinux
import TestSupport
import Testing

@testable import BlobServer
@testable import blobd

/// A worker's connections by their tokens.
@Suite struct ConnectionTableTests {
    private let folder: TemporaryFolder
    private let store: BlobStore
    private let inbox: WorkerInbox

    init() throws {
        folder = TemporaryFolder()
        store = try BlobStore.open(at: folder.path)
        inbox = try WorkerInbox()
    }

    private func make(_ token: ConnectionToken) throws -> Connection {
        Connection(
            Socket(try OwnedDescriptor(taking: clinux_unix_socket(), from: "socket")),
            address: ConnectionAddress(inbox: inbox, token: token),
            peer: Peer(userID: 0), store: store, now: .now)
    }

    @Test("A token finds its connection until that is removed, and no later one in its place")
    func tokens() throws {
        var table = ConnectionTable()
        let token = table.reserve()
        let before = table.unretained(token) == nil
        #expect(before)
        table.insert(try make(token))
        let found = table.connection(token)
        let connection = try #require(found)
        #expect(connection.token == token)
        let isRemoved = table.remove(connection)
        #expect(isRemoved)
        let isRemovedAgain = table.remove(connection)
        #expect(!isRemovedAgain)
        let after = table.unretained(token) == nil
        #expect(after)
        let next = table.reserve()
        #expect(next.slot == token.slot && next != token)
        table.insert(try make(next))
        let old = table.unretained(token) == nil
        #expect(old)
        let count = table.count
        #expect(count == 1)
    }

    @Test("A removed connection is there until the time slice ends")
    func timeSlices() throws {
        var table = ConnectionTable()
        weak var watched: Connection?
        let token = table.reserve()
        do {
            let connection = try make(token)
            watched = connection
            table.insert(connection)
            _ = table.remove(connection)
        }
        #expect(watched != nil)
        table.endIteration()
        #expect(watched == nil)
    }

    @Test("A place that is given back is used again")
    func places() throws {
        var table = ConnectionTable()
        let first = table.reserve()
        let second = table.reserve()
        table.release(first)
        let third = table.reserve()
        #expect(third.slot == first.slot && third != first && second.slot != first.slot)
        for _ in 0..<300 { table.insert(try make(table.reserve())) }
        let all = table.all.count
        #expect(all == 300)
    }
}
