internal import BlobJSON
package import BlobStore
internal import Bytes

/// `base/…/manifest.json`: what a base has. It is created when all else of the base is in the bucket, and all
/// that the base has is in the log.
package struct BaseManifest: Sendable, Hashable {
    package struct Part: Sendable, Hashable {
        package var byteCount: Int
        package var digest: Digest
    }

    package var storeID: String
    package var epoch: UInt64
    /// The segment after which a follower continues.
    package var position: LogPosition
    /// The last batch that it has: those up to it are left out of the segments behind it.
    package var sequence: UInt64
    /// No batch that it has is later, by its leader's clock.
    package var time: Timestamp
    /// The blobs that it has are below this number.
    package var nextBlobNumber: UInt64
    package var parts: [Part]

    package var byteCount: Int { parts.reduce(0) { $0 + $1.byteCount } }

    package var state: ReplicationState {
        ReplicationState(
            role: .follower, epoch: epoch, nonce: .random(), position: position,
            sequence: sequence)
    }
}

extension BaseManifest {
    package init(_ bytes: [UInt8]) throws(DamagedObject) {
        let value = try Document.parse(bytes)
        guard try value.integer("version") == StoreDocument.version else {
            throw DamagedObject("has an unknown version")
        }
        storeID = try value.text("store")
        epoch = try value.integer("epoch")
        position = LogPosition(
            number: try value.integer("segment"), hash: try value.digest("segment_digest"))
        sequence = try value.integer("sequence")
        time = Timestamp(milliseconds: try value.integer("milliseconds"))
        nextBlobNumber = try value.integer("next_blob")
        guard case .array(let list) = value["parts"] else {
            throw DamagedObject("contains no parts")
        }
        parts = []
        for part in list {
            parts.append(
                Part(byteCount: try part.integer("bytes"), digest: try part.digest("digest")))
        }
    }

    package var bytes: [UInt8] {
        let parts = parts.map { part in
            JSONValue.object([
                JSONMember("bytes", .integer(part.byteCount)),
                JSONMember("digest", .string(part.digest.description)),
            ])
        }
        return Document.bytes([
            ("version", .integer(StoreDocument.version)), ("store", .string(storeID)),
            ("epoch", .integer(epoch)), ("segment", .integer(position.number)),
            ("segment_digest", .string(position.hash.description)),
            ("sequence", .integer(sequence)), ("milliseconds", .integer(time.milliseconds)),
            ("next_blob", .integer(nextBlobNumber)), ("parts", .array(parts)),
        ])
    }
}

extension BaseManifest {
    /// Reads the manifest of a base. One request.
    ///
    /// - Throws: ``ReplicationError/damaged(name:why:)`` also where there is none.
    package static func read(
        _ number: UInt64, on bucket: some Bucket
    ) throws(ReplicationError) -> BaseManifest {
        try bucket.readExisting(ShardNames.manifest(number)) { (bytes) throws(DamagedObject) in
            let manifest = try BaseManifest(bytes)
            guard manifest.position.number == number else {
                throw DamagedObject("belongs to segment \(manifest.position.number)")
            }
            return manifest
        }
    }

    /// The newest base after a segment, or with it, whose manifest can be read; nil: there is none. A LIST, and a GET for
    /// each that is looked at.
    static func newestReadable(
        from number: UInt64, on bucket: some Bucket
    ) throws(ReplicationError) -> BaseManifest? {
        for found in try numbers(from: number, on: bucket).reversed() {
            do throws(ReplicationError) { return try read(found, on: bucket) } catch {
                guard case .damaged = error else { throw error }
            }
        }
        return nil
    }

    /// The numbers of the bases that have one, in order. A LIST for each 1,000 names.
    ///
    /// - Parameter first: those before it are left out.
    package static func numbers(
        from first: UInt64 = 0, on bucket: some Bucket
    ) throws(ReplicationError) -> [UInt64] {
        let names = try bucket.names(ShardNames.basePrefix, after: ShardNames.base(first))
        return names.compactMap { name in
            let parts = name.split(separator: "/")
            guard parts.count == 3, parts[2] == "manifest.json" else { return nil }
            return UInt64(parts[1])
        }
    }
}
