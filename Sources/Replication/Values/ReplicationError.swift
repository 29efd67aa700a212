package import BlobStore

/// Why replication does not go on.
package enum ReplicationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The bucket did not do what it was asked for.
    case bucket(BucketError)
    /// This host's store did not.
    case store(StoreError)
    /// An object is damaged, or is not what its name says.
    case damaged(name: String, why: String)
    /// The prefix has another store.
    case otherStore(found: String, expected: String)
    /// Nobody has led this shard yet.
    case noShard
    /// Another store leads, or has led since.
    case deposed(epoch: UInt64, leader: String)
    /// The log does not go back to what this store has: it must be made anew from a base.
    case tooOld(position: UInt64)
    /// A segment is not behind the one before it, as this host has that: a store that has it must be made anew
    /// from a base.
    case forked(number: UInt64)

    /// The bucket does not have what a restore asks for.
    case notRestorable(String)

    /// Why, in words for a person, with what to do.
    package var description: String {
        switch self {
        case .bucket(let error): error.description
        case .store(let error): error.description
        case .damaged(let name, let why): "the object \(name) \(why)"
        case .otherStore(let found, let expected):
            "the prefix has the store \(found), and this is \(expected): use another prefix or another --data"
        case .noShard: "the prefix has no shard: start its leader first, with --replicate"
        case .deposed(let epoch, let leader): "\(leader) leads since epoch \(epoch)"
        case .tooOld(let position):
            "the log behind \(position) is not in the bucket any more"
        case .forked(let number):
            "the segment \(number) of the log does not continue the one before it: one of them is another than it was"
        case .notRestorable(let why): why
        }
    }

    /// Whether somebody asked for a stop.
    package var isStop: Bool {
        if case .bucket(let error) = self { error.isStop } else { false }
    }
}

/// An object that is damaged or missing, or is not what its name says.
package struct ObjectProblem: Sendable, Hashable, CustomStringConvertible {
    package var name: String
    /// The end of a sentence whose subject is the object.
    package var why: String

    package var description: String { "the object \(name) \(why)" }
}

extension ReplicationError {
    /// What is wrong with an object; nil for another error.
    var problem: ObjectProblem? {
        guard case .damaged(let name, let why) = self else { return nil }
        return ObjectProblem(name: name, why: why)
    }
}

/// Runs a body whose errors are the bucket's.
func onBucket<Result>(
    _ body: () throws(BucketError) -> Result
) throws(ReplicationError) -> Result {
    do throws(BucketError) { return try body() } catch { throw .bucket(error) }
}

/// Runs a body whose errors are the store's.
func inStore<Result>(
    _ body: () throws(StoreError) -> Result
) throws(ReplicationError) -> Result {
    do throws(StoreError) { return try body() } catch { throw .store(error) }
}
