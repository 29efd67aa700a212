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
    /// The segment behind which a follower goes on.
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

    package init(
        storeID: String, epoch: UInt64, position: LogPosition, sequence: UInt64, time: Timestamp,
        nextBlobNumber: UInt64, parts: [Part]
    ) {
        self.storeID = storeID
        self.epoch = epoch
        self.position = position
        self.sequence = sequence
        self.time = time
        self.nextBlobNumber = nextBlobNumber
        self.parts = parts
    }

    package init(_ bytes: [UInt8]) throws(DamagedObject) {
        let value = try Document.parse(bytes)
        func number(_ value: JSONValue, _ name: String) throws(DamagedObject) -> UInt64 {
            guard let number = UInt64(exactly: try Document.integer(value, name)) else {
                throw DamagedObject("has a negative \"\(name)\"")
            }
            return number
        }
        func digest(_ value: JSONValue, _ name: String) throws(DamagedObject) -> Digest {
            guard let digest = Digest(try Document.text(value, name)) else {
                throw DamagedObject("has no digest \"\(name)\"")
            }
            return digest
        }
        guard try Document.integer(value, "version") == StoreDocument.version else {
            throw DamagedObject("has an unknown version")
        }
        storeID = try Document.text(value, "store")
        epoch = try number(value, "epoch")
        position = LogPosition(
            number: try number(value, "segment"), hash: try digest(value, "segment_digest"))
        sequence = try number(value, "sequence")
        time = Timestamp(milliseconds: try Document.integer(value, "milliseconds"))
        nextBlobNumber = try number(value, "next_blob")
        guard case .array(let list) = value["parts"] else { throw DamagedObject("has no parts") }
        parts = []
        for part in list {
            parts.append(
                Part(
                    byteCount: Int(clamping: try number(part, "bytes")),
                    digest: try digest(part, "digest")))
        }
    }

    package var bytes: [UInt8] {
        func number(_ value: UInt64) -> JSONValue { .number(JSONNumber(Int64(clamping: value))) }
        return Document.bytes([
            JSONMember("version", .number(JSONNumber(StoreDocument.version))),
            JSONMember("store", .string(storeID)),
            JSONMember("epoch", number(epoch)),
            JSONMember("segment", number(position.number)),
            JSONMember("segment_digest", .string(position.hash.description)),
            JSONMember("sequence", number(sequence)),
            JSONMember("milliseconds", .number(JSONNumber(time.milliseconds))),
            JSONMember("next_blob", number(nextBlobNumber)),
            JSONMember(
                "parts",
                .array(
                    parts.map { part in
                        .object([
                            JSONMember("bytes", number(UInt64(part.byteCount))),
                            JSONMember("digest", .string(part.digest.description)),
                        ])
                    })),
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
                throw DamagedObject("is of the segment \(manifest.position.number)")
            }
            return manifest
        }
    }

    /// The numbers of the bases that have one, in order. A LIST for each 1,000 names.
    package static func numbers(on bucket: some Bucket) throws(ReplicationError) -> [UInt64] {
        let names = try bucket.names(ShardNames.basePrefix)
        return names.compactMap { name in
            let parts = name.split(separator: "/")
            guard parts.count == 3, parts[2] == "manifest.json" else { return nil }
            return UInt64(parts[1])
        }
    }
}
