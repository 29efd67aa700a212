internal import BlobStore

/// The bases that a bucket has. Manifests never change, and are read once.
package struct BaseCatalog {
    /// Those that count: with a manifest and all their parts, in the order of their segments.
    package private(set) var bases: [BaseManifest] = []
    /// What is wrong with those whose manifest cannot be read, or whose parts are missing, by their segments. They
    /// count for nothing, and everything else continues with the others.
    package private(set) var damaged: [UInt64: ObjectProblem] = [:]
    package var problems: [ObjectProblem] { damaged.sorted { $0.key < $1.key }.map(\.value) }
    private(set) var unfinished: [UInt64: [String]] = [:]
    private let storeID: String
    private var names: [UInt64: [String]] = [:]
    private var manifests: [UInt64: BaseManifest] = [:]
    /// Segments after which a base was begun here, whether its names have been seen or not.
    private var begun: Set<UInt64> = []

    /// - Parameter storeID: the shard's. A base of another store is damaged.
    package init(of storeID: String) { self.storeID = storeID }

    /// Looks again. A LIST, another one for each 1,000 parts, and a GET for each manifest that is new or damaged.
    package mutating func refresh(on bucket: some Bucket) throws(ReplicationError) {
        let all = try bucket.names(ShardNames.basePrefix)
        names = [:]
        for name in all {
            let digits = name.dropFirst(ShardNames.basePrefix.count).prefix { $0 != "/" }
            guard let number = UInt64(digits), name.hasPrefix(ShardNames.base(number)) else {
                continue
            }
            names[number, default: []].append(name)
        }
        bases = []
        unfinished = [:]
        damaged = [:]
        for (number, names) in names {
            guard names.contains(ShardNames.manifest(number)) else {
                unfinished[number] = names
                continue
            }
            do throws(ReplicationError) {
                bases.append(try base(number, names, on: bucket))
            } catch {
                damaged[number] = try problem(error, of: number, on: bucket)
            }
        }
        bases.sort { $0.position.number < $1.position.number }
        manifests = manifests.filter { self.names[$0.key] != nil }
    }

    /// What is wrong with a base. One object that the bucket never gives is no reason to stop, but a bucket that is away
    /// says nothing of its objects.
    private func problem(
        _ error: ReplicationError, of number: UInt64, on bucket: some Bucket
    ) throws(ReplicationError) -> ObjectProblem {
        if let problem = error.problem { return problem }
        guard case .bucket(let why, isLasting: false) = error else { throw error }
        _ = try StoreDocument.read(on: bucket)
        return ObjectProblem(name: ShardNames.manifest(number), why: "cannot be read: \(why)")
    }

    private mutating func base(
        _ number: UInt64, _ names: [String], on bucket: some Bucket
    ) throws(ReplicationError) -> BaseManifest {
        let manifest: BaseManifest
        if let known = manifests[number] {
            manifest = known
        } else {
            manifest = try BaseManifest.read(number, on: bucket)
            guard manifest.storeID == storeID else {
                throw .foreign(ShardNames.manifest(number), of: manifest.storeID, in: storeID)
            }
            manifests[number] = manifest
        }
        let has = Set(names)
        for part in manifest.parts.indices {
            let name = ShardNames.part(part, ofBase: number)
            guard has.contains(name) else { throw .damaged(name: name, why: "is missing") }
        }
        return manifest
    }

    mutating func add(_ manifest: BaseManifest) {
        manifests[manifest.position.number] = manifest
        bases.append(manifest)
    }

    /// Notes that a base is begun here, before its first name is created: of a request that failed nobody knows
    /// when it arrives, and a listing may fail, too.
    mutating func begin(_ number: UInt64) { begun.insert(number) }

    /// Whether something has, or may get, the names of a base after a segment.
    func hasNames(_ number: UInt64) -> Bool { names[number] != nil || begun.contains(number) }

    /// All names of a base, its manifest first: what is deleted half does not count.
    func names(of number: UInt64) -> [String] {
        let manifest = ShardNames.manifest(number)
        return [manifest] + (names[number] ?? []).filter { $0 != manifest }
    }
}
