internal import BlobJSON
package import BlobStore
internal import Bytes
internal import Hashing

/// `store.json`: which store a shard is of.
package struct StoreDocument: Sendable, Hashable {
    /// The layout of the objects; the only one.
    package static let version: Int64 = 1
    package var storeID: String

    package init(storeID: String) { self.storeID = storeID }

    package init(_ bytes: [UInt8]) throws(DamagedObject) {
        let value = try Document.parse(bytes)
        let version = try Document.integer(value, "version")
        guard version == Self.version else {
            throw DamagedObject(
                "has the version \(version); this program reads \(Self.version): use a newer one")
        }
        storeID = try Document.text(value, "store")
    }

    package var bytes: [UInt8] {
        Document.bytes([
            JSONMember("version", .number(JSONNumber(Self.version))),
            JSONMember("store", .string(storeID)),
        ])
    }
}

extension StoreDocument {
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

/// `epoch/…`: who leads from here.
package struct EpochDocument: Sendable, Hashable {
    package var storeID: String
    package var nonce: Nonce
    /// The host, and the address that it gives to clients of its followers.
    package var host: String
    package var time: Timestamp

    package init(storeID: String, nonce: Nonce, host: String, time: Timestamp) {
        self.storeID = storeID
        self.nonce = nonce
        self.host = host
        self.time = time
    }

    package init(_ bytes: [UInt8]) throws(DamagedObject) {
        let value = try Document.parse(bytes)
        storeID = try Document.text(value, "store")
        host = try Document.text(value, "host")
        time = Timestamp(milliseconds: try Document.integer(value, "milliseconds"))
        nonce = try Document.nonce(value)
    }

    package var bytes: [UInt8] {
        Document.bytes([
            JSONMember("store", .string(storeID)),
            JSONMember("nonce", .string(nonce.description)),
            JSONMember("host", .string(host)),
            JSONMember("milliseconds", .number(JSONNumber(time.milliseconds))),
        ])
    }
}

/// `handover/…`: that a follower asks the leader of an epoch to hand over.
package struct HandoverDocument: Sendable, Hashable {
    package var storeID: String
    package var epoch: UInt64
    package var host: String
    package var nonce: Nonce

    package init(storeID: String, epoch: UInt64, host: String, nonce: Nonce) {
        self.storeID = storeID
        self.epoch = epoch
        self.host = host
        self.nonce = nonce
    }

    package init(_ bytes: [UInt8]) throws(DamagedObject) {
        let value = try Document.parse(bytes)
        storeID = try Document.text(value, "store")
        epoch = UInt64(clamping: try Document.integer(value, "epoch"))
        host = try Document.text(value, "host")
        nonce = try Document.nonce(value)
    }

    package var bytes: [UInt8] {
        Document.bytes([
            JSONMember("store", .string(storeID)),
            JSONMember("epoch", .number(JSONNumber(Int64(clamping: epoch)))),
            JSONMember("nonce", .string(nonce.description)),
            JSONMember("host", .string(host)),
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
                throw DamagedObject("asks the leader of another store or epoch")
            }
            return document
        }
    }
}

/// What short documents are read and written with: JSON objects, whose last member `sha256` is the SHA-256 of the same
/// object without it, so that no changed byte is taken for something that was written.
enum Document {
    private static let digestName = "sha256"

    static func parse(_ bytes: [UInt8]) throws(DamagedObject) -> JSONValue {
        let value: JSONValue
        do throws(JSONError) { value = try JSONValue.parse(bytes.span.bytes) } catch {
            throw DamagedObject("is no JSON: \(error)")
        }
        guard case .object(let members) = value, members.last?.name == digestName else {
            throw DamagedObject("has no \"\(digestName)\" at its end")
        }
        guard Self.bytes(members.dropLast()) == bytes else {
            throw DamagedObject("fails its SHA-256")
        }
        return value
    }

    static func text(_ value: JSONValue, _ name: String) throws(DamagedObject) -> String {
        guard case .string(let text) = value[name] else {
            throw DamagedObject("has no text \"\(name)\"")
        }
        return text
    }

    static func nonce(_ value: JSONValue) throws(DamagedObject) -> Nonce {
        let nonce = try text(value, "nonce")
        guard nonce.utf8.count == 32, let high = UInt64(nonce.prefix(16), radix: 16),
            let low = UInt64(nonce.suffix(16), radix: 16)
        else { throw DamagedObject("has the nonce \"\(nonce)\"") }
        return Nonce(high: high, low: low)
    }

    static func integer(_ value: JSONValue, _ name: String) throws(DamagedObject) -> Int64 {
        guard case .number(let number) = value[name], let integer = number.integer else {
            throw DamagedObject("has no number \"\(name)\"")
        }
        return integer
    }

    static func bytes(_ members: [JSONMember]) -> [UInt8] {
        var text: [UInt8] = []
        JSONValue.object(members).append(to: &text)
        let digest = Digest(SHA256.digest(of: text.span.bytes))
        var bytes: [UInt8] = []
        JSONValue.object(members + [JSONMember(digestName, .string(digest.description))])
            .append(to: &bytes)
        bytes.append(0x0A)
        return bytes
    }
}
