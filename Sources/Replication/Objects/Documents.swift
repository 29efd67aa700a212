internal import BlobJSON
package import BlobStore
internal import Bytes
internal import Hashing

/// `store.json`: which store a shard is of.
package struct StoreDocument: Sendable, Hashable {
    /// The layout of the objects. 1 had the log in packs, too.
    package static let version: Int64 = 2
    package var storeID: String
}

extension StoreDocument {
    package init(_ bytes: [UInt8]) throws(DamagedObject) {
        let value = try Document.parse(bytes)
        let version: Int64 = try value.integer("version")
        guard version == Self.version else {
            throw DamagedObject(
                "has format version \(version), but this program reads only version \(Self.version): "
                    + (version > Self.version
                        ? "upgrade blobd"
                        : "begin a shard under another prefix with a backup of the leader, or with what the blobd that wrote this one restores")
            )
        }
        storeID = try value.text("store")
    }

    package var bytes: [UInt8] {
        Document.bytes([("version", .integer(Self.version)), ("store", .string(storeID))])
    }

    /// Makes that of a shard where it is missing. One request where it is not.
    ///
    /// - Returns: whether it was missing.
    /// - Throws: where it is damaged, or another store's.
    static func makeAgain(
        of id: StoreID, on bucket: some Bucket
    ) throws(ReplicationError) -> Bool {
        do throws(ReplicationError) {
            let found = try read(on: bucket).storeID
            guard found == id.description else {
                throw .foreign(ShardNames.store, of: found, in: id.description)
            }
            return false
        } catch {
            guard case .noShard = error else { throw error }
        }
        let other = try bucket.createUntilKnown(
            ShardNames.store, StoreDocument(storeID: id.description).bytes,
            byteCountMax: ReplicationLimits.documentByteCountMax)
        // Who was first is found with the next look.
        return other == nil
    }

    /// Reads that of a shard. One request.
    ///
    /// - Throws: ``ReplicationError/noShard`` where there is none.
    package static func read(on bucket: some Bucket) throws(ReplicationError) -> StoreDocument {
        guard let document = try bucket.read(ShardNames.store, StoreDocument.init(_:)) else {
            throw .noShard
        }
        return document
    }
}

/// `handover/…`: that a follower asks the leader of an epoch to hand over.
package struct HandoverDocument: Sendable, Hashable {
    package var storeID: String
    package var epoch: UInt64
    package var host: String
    package var nonce: Nonce
}

extension HandoverDocument {
    package init(_ bytes: [UInt8]) throws(DamagedObject) {
        let value = try Document.parse(bytes)
        storeID = try value.text("store")
        epoch = try value.integer("epoch")
        host = try value.text("host")
        nonce = try value.nonce()
    }

    package var bytes: [UInt8] {
        Document.bytes([
            ("store", .string(storeID)), ("epoch", .integer(epoch)),
            ("nonce", .string(nonce.description)), ("host", .string(host)),
        ])
    }

    /// Reads the request to the leader of an epoch; nil where nobody asks. One request.
    ///
    /// - Throws: ``ReplicationError/damaged(name:why:)`` for what is no request to it: a proxy's page, say. Treat
    ///   that as no request.
    package static func read(
        _ epoch: UInt64, of storeID: StoreID, on bucket: some Bucket
    ) throws(ReplicationError) -> HandoverDocument? {
        try bucket.read(
            ShardNames.handover(epoch), byteCountMax: ReplicationLimits.handoverByteCountMax
        ) { (bytes) throws(DamagedObject) in
            let document = try HandoverDocument(bytes)
            guard document.storeID == storeID.description, document.epoch == epoch else {
                throw DamagedObject("is addressed to the leader of another store or epoch")
            }
            return document
        }
    }
}

/// `alive/…`: who leads an epoch, and is alive. It is overwritten every few seconds.
package struct AliveDocument: Sendable, Hashable {
    package var storeID: String
    package var epoch: UInt64
    /// The host, and the address that it gives to clients of its followers.
    package var host: String
    /// When it was written first, by its writer's clock.
    package var since: Timestamp
    /// How often it was written.
    package var counter: UInt64
    /// The last segment in the log.
    package var segment: UInt64
    /// When it was written, by its writer's clock.
    package var time: Timestamp
}

extension AliveDocument {
    package init(_ bytes: [UInt8]) throws(DamagedObject) {
        let value = try Document.parse(bytes)
        storeID = try value.text("store")
        epoch = try value.integer("epoch")
        host = try value.text("host")
        since = Timestamp(milliseconds: try value.integer("since"))
        counter = try value.integer("counter")
        segment = try value.integer("segment")
        time = Timestamp(milliseconds: try value.integer("milliseconds"))
    }

    package var bytes: [UInt8] {
        Document.bytes([
            ("store", .string(storeID)), ("epoch", .integer(epoch)),
            ("host", .string(host)), ("since", .integer(since.milliseconds)),
            ("counter", .integer(counter)), ("segment", .integer(segment)),
            ("milliseconds", .integer(time.milliseconds)),
        ])
    }

    /// Reads that of an epoch; nil where its leader has not written one yet. One request.
    package static func read(
        _ epoch: UInt64, of storeID: String, on bucket: some Bucket
    ) throws(ReplicationError) -> AliveDocument? {
        try bucket.read(
            ShardNames.alive(epoch), byteCountMax: ReplicationLimits.handoverByteCountMax
        ) { (bytes) throws(DamagedObject) in
            let document = try AliveDocument(bytes)
            guard document.storeID == storeID, document.epoch == epoch else {
                throw DamagedObject("belongs to the leader of another store or epoch")
            }
            return document
        }
    }

    /// As ``read(_:of:on:)``; nil also for a damaged one. A leader that is alive writes it again.
    static func readable(
        _ epoch: UInt64, of storeID: String, on bucket: some Bucket
    ) throws(ReplicationError) -> AliveDocument? {
        do throws(ReplicationError) { return try read(epoch, of: storeID, on: bucket) } catch {
            guard case .damaged = error else { throw error }
            return nil
        }
    }

    /// That of the highest epoch that has one; nil before the first, and where it is damaged. Two requests.
    static func newest(
        of storeID: String, on bucket: some Bucket
    ) throws(ReplicationError) -> AliveDocument? {
        let epochs = try bucket.names(ShardNames.alivePrefix).compactMap {
            ShardNames.number($0, after: ShardNames.alivePrefix)
        }
        return try epochs.max().flatMap { (epoch) throws(ReplicationError) in
            try readable(epoch, of: storeID, on: bucket)
        }
    }

    static let unknownHost = "another host"

    /// Who leads an epoch, for people. One request.
    static func host(of epoch: UInt64, in storeID: StoreID, on bucket: some Bucket) -> String {
        (try? read(epoch, of: storeID.description, on: bucket))?.host ?? unknownHost
    }
}

/// What short documents are read and written with: JSON objects, whose last member `sha256` is the SHA-256 of the same
/// object without it, so that no changed byte is taken for something that was written.
enum Document {
    private static let digestName = "sha256"

    static func parse(_ bytes: [UInt8]) throws(DamagedObject) -> JSONValue {
        let value: JSONValue
        do throws(JSONError) { value = try JSONValue.parse(bytes.span.bytes) } catch {
            throw DamagedObject("is not JSON: \(error)")
        }
        guard case .object(let members) = value, members.last?.name == digestName else {
            throw DamagedObject("does not end with \"\(digestName)\"")
        }
        guard Self.bytes(members.dropLast().map { ($0.name, $0.value) }) == bytes else {
            throw DamagedObject("fails its SHA-256")
        }
        return value
    }

    static func bytes(_ members: [(name: String, value: JSONValue)]) -> [UInt8] {
        var members = members.map { JSONMember($0.name, $0.value) }
        var text: [UInt8] = []
        JSONValue.object(members).append(to: &text)
        let digest = Digest(SHA256.digest(of: text.span.bytes))
        members.append(JSONMember(digestName, .string(digest.description)))
        var bytes: [UInt8] = []
        JSONValue.object(members).append(to: &bytes)
        bytes.append(0x0A)
        return bytes
    }
}

/// Members of documents.
extension JSONValue {
    static func integer(_ number: some BinaryInteger) -> JSONValue {
        .number(JSONNumber(Int64(clamping: number)))
    }

    func text(_ name: String) throws(DamagedObject) -> String {
        guard case .string(let text) = self[name] else {
            throw DamagedObject("lacks the string \"\(name)\"")
        }
        return text
    }

    func integer<Number: FixedWidthInteger>(_ name: String) throws(DamagedObject) -> Number {
        guard case .number(let number) = self[name], let integer = number.integer else {
            throw DamagedObject("lacks the number \"\(name)\"")
        }
        guard let exact = Number(exactly: integer) else {
            throw DamagedObject("has a negative \"\(name)\"")
        }
        return exact
    }

    func digest(_ name: String) throws(DamagedObject) -> Digest {
        guard let digest = Digest(try text(name)) else {
            throw DamagedObject("lacks the digest \"\(name)\"")
        }
        return digest
    }

    func nonce() throws(DamagedObject) -> Nonce {
        let nonce = try text("nonce")
        guard nonce.utf8.count == 32, let high = UInt64(nonce.prefix(16), radix: 16),
            let low = UInt64(nonce.suffix(16), radix: 16)
        else { throw DamagedObject("contains the invalid nonce \"\(nonce)\"") }
        return Nonce(high: high, low: low)
    }
}
