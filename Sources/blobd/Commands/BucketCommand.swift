import BlobStore
import Glibc
import ObjectStore
import Replication

/// What the commands that read a replicated store's bucket share.
enum BucketCommand {
    /// A client of a bucket, by its address and the variables of the environment.
    static func open(_ url: String) throws(CommandFailure) -> S3Bucket {
        // A connection that the server has closed is an error of its write.
        signal(SIGPIPE, SIG_IGN)
        let objects = try objects(url)
        do throws(ReplicationError) { return try S3Bucket(objects, stop: StopSignal()) } catch {
            throw CommandFailure(.refused, error.description)
        }
    }

    /// Where the objects are.
    static func objects(_ url: String) throws(CommandFailure) -> ObjectBucket {
        do throws(ObjectStoreError) { return try ObjectBucket(url) } catch {
            throw CommandFailure(ExitStatus(error), error.description)
        }
    }

    /// What an error of such a command ends it with: a server that cannot now is tried again later.
    static func failure(_ what: String, _ error: any Error) -> CommandFailure {
        switch error {
        case let error as CommandFailure: error
        case ReplicationError.bucket(let why, let isLasting):
            CommandFailure(isLasting ? .refused : .noDaemon, "\(what): \(why)")
        case ReplicationError.stopped: CommandFailure(.noDaemon, "\(what): \(error)")
        default: CommandFailure(.refused, "\(what): \(error)")
        }
    }
}
