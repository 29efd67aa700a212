import ArgumentParser
import BlobClient
import BlobJSON
import BlobProtocol
import Glibc
import Synchronization

struct LoadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load",
        abstract: "Publish the notifications and payloads of a dump.",
        discussion: """
            A notification with the same id is replaced; expired ones are skipped. Creation times, revisions, \
            responses, the device of the last change and the names of categories that do not exist are not \
            loaded. Payloads are stored uncompressed. Unlike a restored store, the daemon may assign an id \
            that a device still has in an old link. A load that was interrupted says what is stored by then, \
            and can be repeated.

              blobd load all.tar
              ssh old 'blobd dump -' | blobd load -
            """)

    @Argument(
        help: .named("file", "The archive, or - for standard input."), completion: .file())
    var file: String

    @OptionGroup var socket: SocketOptions

    func run() throws {
        var input = try InputFile(file)
        var connection = try socket.connect()
        let load = Load()
        Interruption.handle { signal in
            StandardError.note("interrupted; \(load.storedSoFar)")
            _exit(Interruption.exitCode(of: signal))
        }
        var progress = ProgressBar("loading")
        defer { progress.finish() }
        do {
            while let head = try TarArchive.read(try input.read(TarArchive.blockByteCount)) {
                let bytes = try input.read(head.byteCount)
                _ = try input.read(TarArchive.padding(after: head.byteCount).count)
                try load.add(head.name, bytes, &connection)
                if input.byteCountInAll > 0 {
                    progress.update(UInt64(input.byteCount), of: input.byteCountInAll)
                } else {
                    progress.update(UInt64(input.byteCount))
                }
            }
        } catch {
            progress.finish()
            StandardError.note("stopped; \(load.storedSoFar)")
            throw error
        }
        progress.finish()
        try StandardOutput.write(load.summary)
        let refusedCount = load.refusedCount
        guard refusedCount == 0 else {
            throw CommandFailure(
                .refused, "\(HumanText.count(refusedCount)) notifications were refused")
        }
    }
}

/// The loading of an archive. Another thread may ask how far it is.
private final class Load: Sendable {
    private struct Counts {
        var notifications = 0
        var expired = 0
        var payloads = 0
        var refused = 0

        var stored: String {
            "\(HumanText.count(notifications, of: "notification")) and "
                + HumanText.count(payloads, of: "payload")
        }
    }

    private let counts = Mutex(Counts())

    var refusedCount: Int { counts.withLock { $0.refused } }

    var summary: String {
        let counts = counts.withLock { $0 }
        return "loaded \(counts.stored)"
            + (counts.expired > 0 ? ", skipped \(HumanText.count(counts.expired)) expired\n" : "\n")
    }

    /// At least: of what is being sent the answer is not known.
    var storedSoFar: String {
        "at least \(counts.withLock { $0.stored }) of the archive are stored. Loading it again "
            + "replaces them"
    }

    /// Ignores files with other names.
    func add(
        _ name: String, _ bytes: [UInt8], _ connection: inout BlobConnection
    ) throws {
        if name.hasPrefix("blobs/sha256/") {
            let digest = "sha256:\(name.dropFirst("blobs/sha256/".count))"
            let found = PayloadDigest(of: bytes.span.bytes)
            guard "\(found)" == digest else {
                throw CommandFailure(.refused, "the bytes of \(name) do not match the digest")
            }
            // Held until its notifications arrive.
            let seconds = min(Self.holdSecondsMax, Int64(connection.daemon.ttlSecondsMax))
            try connection.call(.storeBlob(bytes, as: found, ttlSeconds: seconds))
            counts.withLock { $0.payloads += 1 }
        } else if name == "categories.jsonl" {
            for line in Self.lines(of: bytes) { try addCategory(line, &connection) }
        } else if name.hasPrefix("notifications/") {
            try addNotifications(Self.lines(of: bytes), &connection)
        }
    }

    private static let holdSecondsMax: Int64 = 86_400

    private static func lines(of bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        bytes.split(separator: UInt8(ascii: "\n"))
    }

    private func addCategory(
        _ line: ArraySlice<UInt8>, _ connection: inout BlobConnection
    ) throws {
        let category = try JSONTexts.value(Array(line))
        guard let name = category.text("name") else {
            throw CommandFailure(.refused, "a category of the archive has no name")
        }
        var body: [UInt8] = []
        category.only("actions", "options").append(to: &body)
        try connection.call(
            DaemonCall(
                .put, CallTarget.category(name, category.text("app")).text, body: body,
                mediaType: "application/json"))
    }

    private func addNotifications(
        _ lines: [ArraySlice<UInt8>], _ connection: inout BlobConnection
    ) throws {
        let now = wallClockMilliseconds()
        var batch: [UInt8] = []
        for line in lines {
            let record = try JSONTexts.value(Array(line))
            guard let id = record.text("id") else {
                throw CommandFailure(.refused, "a notification of the archive has no id")
            }
            guard let end = record.text("expires_at") else {
                throw CommandFailure(.refused, "\(id) has no expires_at in the archive")
            }
            guard try CommandLineText.time(end) > now else {
                counts.withLock { $0.expired += 1 }
                continue
            }
            record.publishable.append(to: &batch)
            batch.append(UInt8(ascii: "\n"))
        }
        for call in BatchFile(batch).calls { try publish(call.bytes, &connection) }
    }

    private func publish(
        _ lines: [UInt8], _ connection: inout BlobConnection
    ) throws {
        let results = try connection.call(.publishBatch(lines: lines))
        // A record keeps the name of a deleted category, but no publish may name it.
        var withoutCategory: [UInt8] = []
        for (line, result) in zip(Self.lines(of: lines), results) {
            guard result.status >= 400 else {
                counts.withLock { $0.notifications += 1 }
                continue
            }
            let record = try JSONTexts.value(Array(line))
            guard result.code != "unknown_category" else {
                record.without(["category"]).append(to: &withoutCategory)
                withoutCategory.append(UInt8(ascii: "\n"))
                continue
            }
            counts.withLock { $0.refused += 1 }
            let reason = result.detail ?? result.code ?? "refused"
            StandardError.write("blobd: \(record.text("id") ?? "?"): \(reason)\n")
        }
        if !withoutCategory.isEmpty { try publish(withoutCategory, &connection) }
    }
}

extension JSONValue {
    /// A record without the members that the daemon assigns.
    fileprivate var publishable: JSONValue {
        let parts = elements("parts").map { $0.only("name", "media_type", "digest") }
        let rest = without([
            "created_at", "revision", "category_revision", "device", "responses", "parts",
        ])
        guard !parts.isEmpty, case .object(let members) = rest else { return rest }
        return .object(members + [JSONMember("parts", .array(parts))])
    }

    fileprivate func without(_ names: [String]) -> JSONValue {
        guard case .object(let members) = self else { return self }
        return .object(members.filter { !names.contains($0.name) })
    }

    fileprivate func only(_ names: String...) -> JSONValue {
        .object(names.compactMap { name in self[name].map { JSONMember(name, $0) } })
    }
}
