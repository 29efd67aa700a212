package enum ReplicationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The bucket did not do what it was asked for: what went wrong, and what to do.
    ///
    /// `isLasting`: to try again is no use before somebody changes something. A right is missing, say.
    case bucket(String, isLasting: Bool = false)
    case stopped
    /// An object is damaged, or is not what its name says.
    case damaged(name: String, why: String)
    case noShard
    case deposed(epoch: UInt64, leader: String)
    /// The log does not go back to what this store has: it must be rebuilt from a base.
    case tooOld(position: UInt64)
    /// A segment is not after the one before it, as this host has that: a store that has it must be rebuilt
    /// from a base.
    case forked(number: UInt64)

    case notRestorable(String)

    package var description: String {
        switch self {
        case .bucket(let why, _): why
        case .stopped: "stopped"
        case .damaged(let name, let why): "the object \(name) \(why)"
        case .noShard: "the prefix contains no shard: start its leader first, with --replicate"
        case .deposed(let epoch, let leader): "\(leader) has led since epoch \(epoch)"
        case .tooOld(let position):
            "the log after \(position) is no longer in the bucket"
        case .forked(let number):
            "segment \(number) of the log does not continue the previous one: one of the two was changed"
        case .notRestorable(let why): why
        }
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
    /// Whether it may be about the object that was asked for, and no other: another one shows whether it is.
    var isOfOneObject: Bool {
        switch self {
        case .damaged, .bucket: true
        default: false
        }
    }

    /// Who ends it, as a sentence; empty where it may end by itself, or the leader ends it.
    var remedy: String {
        guard case .bucket(_, isLasting: true) = self else { return "" }
        return " Whoever manages the permissions of the bucket can end that."
    }

    var problem: ObjectProblem? {
        guard case .damaged(let name, let why) = self else { return nil }
        return ObjectProblem(name: name, why: why)
    }
}

extension ReplicationError {
    package static func foreign(
        _ name: String, of found: String, in expected: String
    ) -> ReplicationError {
        .damaged(
            name: name,
            why:
                "belongs to the store \(found), but this shard to \(expected): another shard was copied here"
        )
    }
}

/// What is wrong with an object, as the end of a sentence whose subject is the object.
package struct DamagedObject: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
}
