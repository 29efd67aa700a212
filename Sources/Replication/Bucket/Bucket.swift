/// Where a shard is kept: names with bytes, below one prefix of a bucket. Every call may take long, and
/// may fail; one thread uses one of these.
///
/// A name that was created, deleted or listed is seen so by everyone at once, as S3 and its likes promise
/// (strong consistency). Of their conditions only "create if absent" is used.
package protocol Bucket: AnyObject {
    /// Stores bytes under a name unless something is there (`If-None-Match: *`). Tried once.
    func create(_ name: String, _ bytes: [UInt8]) throws(BucketError) -> CreateOutcome

    /// Stores bytes under a name, whatever is there: for names that always get the same bytes. Tried again
    /// where that may help.
    func put(_ name: String, _ bytes: [UInt8]) throws(BucketError)

    /// The bytes of a name; nil when there is none. Tried again where that may help.
    ///
    /// - Parameter byteCountMax: a longer one is an error.
    func get(_ name: String, byteCountMax: Int) throws(BucketError) -> [UInt8]?

    /// Names that begin with a text, in order, behind one of them: at most about 1,000, and none at the end.
    func list(_ prefix: String, after name: String) throws(BucketError) -> [String]

    /// Waits a moment, longer with each attempt, before what was tried is tried again.
    ///
    /// - Parameter attempt: 0 for the first.
    /// - Throws: where somebody asked for a stop.
    func pause(beforeRetrying attempt: Int) throws(BucketError)

    /// Removes a name; nothing where there is none.
    func delete(_ name: String) throws(BucketError)
}

/// What became of an attempt to create a name.
package enum CreateOutcome: Sendable, Hashable {
    /// It is there now, with these bytes.
    case created
    /// Something was there.
    case exists
    /// It may be there or not: the answer was lost. Send the same bytes again.
    case unknown(String)
}

/// Why a bucket did not do what it was asked for.
package struct BucketError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What went wrong, and what to do.
    package var description: String
    /// Whether the caller is to stop: somebody asked for it.
    package var isStop = false
    /// Whether it is no use to try again before somebody changes something: a right is missing, say.
    package var isLasting = false

    /// An error.
    package init(_ description: String, isStop: Bool = false, isLasting: Bool = false) {
        self.description = description
        self.isStop = isStop
        self.isLasting = isLasting
    }
}

extension Bucket {
    /// All names that begin with a text, in order. A request for each 1,000.
    package func names(_ prefix: String, after name: String = "") throws(BucketError) -> [String] {
        var all: [String] = []
        var last = name
        while true {
            let page = try list(prefix, after: last)
            guard let end = page.last else { return all }
            all += page
            last = end
        }
    }
}
