import BlobProtocol
import BlobStore
import Bytes
import Notifications

struct ReceivedFile: Sendable {
    var name: PartName
    /// As ``NotificationDocument/mediaType(ofFile:saying:)`` chose it.
    var mediaType: MediaType
    var payload: PreparedPayload
}

extension NotificationDocument {
    /// The media type of a file's part: what the document says, else what the file's head says,
    /// else that nothing is known. Needed before the file is finished.
    func mediaType(ofFile name: PartName, saying type: MediaType?) -> MediaType {
        let part = parts?.first { $0.name == name }
        return part?.mediaType ?? type ?? .octetStream
    }

    /// Checks the files' names before any of them is finished. Throws `part_unexpected` for a file
    /// that the document, which names its parts, does not name; `part_missing` for a part with
    /// neither digest nor file; `too_many_parts`; and `bad_multipart` for two files of one name.
    func checkFiles(_ names: [PartName]) throws(ProtocolError) {
        for (index, name) in names.enumerated() {
            try require(
                !names[..<index].contains(name), .badMultipart, "duplicate file \(name.excerpt)")
        }
        guard let parts else { return try Self.checkCount(names.count) }
        for name in names where !parts.contains(where: { $0.name == name }) {
            throw ProtocolError(
                .partUnexpected,
                "the file \(name.excerpt) is not in the document's parts")
        }
        for part in parts where part.digest == nil {
            try require(
                names.contains(part.name), .partMissing,
                "the part \(part.name.excerpt) has no digest and no file")
        }
    }

    /// The parts to be stored: in the document's order, or the files' where it names none. Throws what
    /// ``checkFiles(_:)`` does, `digest_mismatch` for a file that is not what the document says, and
    /// `unsupported_attachment` for a part that the profile's devices do not take.
    func parts(
        _ files: [ReceivedFile], for profile: DeviceProfile? = nil
    ) throws(ProtocolError) -> [DraftPart] {
        var drafts = try drafts(files)
        guard let profile else { return drafts }
        for index in drafts.indices {
            let (part, mediaType) = (drafts[index].name, drafts[index].mediaType)
            drafts[index].limit = PartLimit(
                byteCountMax: try profile.byteCountMax(part: part, mediaType: mediaType),
                name: profile.rawValue)
        }
        return drafts
    }

    private func drafts(_ files: [ReceivedFile]) throws(ProtocolError) -> [DraftPart] {
        try checkFiles(files.map(\.name))
        guard let parts else {
            return files.map { Self.draft($0.name, $0.mediaType, .payload($0.payload)) }
        }
        var drafts: [DraftPart] = []
        for part in parts {
            if let file = files.first(where: { part.name == $0.name }) {
                if let digest = part.digest, digest != file.payload.digest {
                    throw ProtocolError(
                        .digestMismatch(expected: digest, actual: file.payload.digest))
                }
                drafts.append(Self.draft(part.name, file.mediaType, .payload(file.payload)))
            } else if let digest = part.digest {
                drafts.append(
                    Self.draft(part.name, part.mediaType ?? .octetStream, .stored(digest)))
            }
        }
        return drafts
    }

    private static func draft(
        _ name: PartName, _ mediaType: MediaType, _ content: DraftPart.Content
    ) -> DraftPart {
        DraftPart(name: name.text, mediaType: mediaType.text, content: content)
    }
}
