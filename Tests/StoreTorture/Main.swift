import BlobStore
import Glibc
import TestSupport

// The other process of the store's tests: what it does can be killed, fail or lack permission
// without harm to the test.
//
//     store-torture publish DIR COUNT BYTES  publishes COUNT payloads one after the other, then one
//     more, then deletes
//     store-torture hold DIR                 opens for writing and waits for the end of its input
//     store-torture open DIR [UID]           opens for writing, as user UID when given, and says
//                                            what came of it
//     store-torture read DIR ID [UID]        opens for reading, as user UID when given, and prints
//     a payload's length

//     store-torture log DIR COUNT            COUNT batches through the log, a line for each that is
//     acknowledged; every fifth time it commits
//     store-torture abandon DIR COUNT        COUNT batches into the log, and waits for the end of its
//     input without committing them
//     store-torture embed DIR COUNT          COUNT publishes into a store that commits its log by itself, a line
//     for each; waits for the end of its input, and closes the store
//     store-torture beside DIR               opens for reading and answers the lines of its input:
//     get ID

@main
struct StoreTorture {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        guard let command = arguments.first, arguments.count >= 2 else { usage() }
        let rest = Array(arguments.dropFirst())
        switch (command, rest.count) {
        case ("publish", 3):
            OneShot.publish(rest[0], count: Int(number(rest[1])), byteCount: Int(number(rest[2])))
        case ("hold", 1): OneShot.hold(rest[0])
        case ("open", 1): OneShot.open(rest[0], user: nil)
        case ("open", 2): OneShot.open(rest[0], user: UInt32(number(rest[1])))
        case ("read", 2): OneShot.read(rest[0], id: rest[1], user: nil)
        case ("read", 3): OneShot.read(rest[0], id: rest[1], user: UInt32(number(rest[2])))
        case ("log", 2): Logged.run(rest[0], count: Int(number(rest[1])))
        case ("abandon", 2): Logged.abandon(rest[0], count: Int(number(rest[1])))
        case ("embed", 2): Logged.embed(rest[0], count: Int(number(rest[1])))
        case ("beside", 1): Logged.readBeside(rest[0])
        default: usage()
        }
    }

    static func usage() -> Never {
        let words = Array(
            "usage: store-torture publish|hold|open|read|log|abandon|embed|beside DIR …\n"
                .utf8)
        _ = write(2, words, words.count)
        exit(2)
    }

    static func number(_ text: String) -> UInt64 {
        guard let number = UInt64(text), number < 1 << 40 else { usage() }
        return number
    }

    /// Writes a whole line in one call, so that a line is there or not, however the process ends.
    static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(1, bytes, bytes.count)
    }

    static func openStore(
        _ directory: String, isLogging: Bool = false
    ) throws(StoreError) -> BlobStore {
        var options = BlobStore.Options()
        options.mapByteCountMax = 1 << 30
        options.usesWriteAheadLog = isLogging
        return try BlobStore.open(at: directory, options: options)
    }

    static func openReadOnly(_ directory: String) throws(StoreError) -> BlobStore {
        var options = BlobStore.Options()
        options.mapByteCountMax = 1 << 30
        return try BlobStore.openReadOnly(at: directory, options: options)
    }

    /// What the body returns. An error of it is the last line, and the end.
    static func orEnd<Result>(_ body: () throws(StoreError) -> Result) -> Result {
        do throws(StoreError) { return try body() } catch {
            say("error \(error)")
            exit(1)
        }
    }

    /// Says what came of a step.
    static func tell(_ what: String, _ body: () throws(StoreError) -> Void) {
        do throws(StoreError) {
            try body()
            say("ok \(what)")
        } catch {
            say("failed \(what): \(error)")
        }
    }

    private static let blockByteCount = 100_008

    /// Noise of a seed (SplitMix64).
    static func noise(seed: UInt64, count: Int) -> [UInt8] {
        var generator = SeededGenerator(seed: seed)
        var bytes = generator.bytes(min(count, blockByteCount))
        // Repeated, but never at the same place of a chunk.
        let block = bytes
        while bytes.count < count { bytes += block }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}

/// The present of every change that is made here.
let noon = Timestamp(milliseconds: 1_800_000_000_000)

extension BlobStore {
    func change(_ id: String, to bytes: [UInt8]) throws(StoreError) -> Change {
        var writer = makePayloadWriter()
        try writer.append(bytes.span.bytes)
        let payload = try writer.finish(mediaType: "application/octet-stream")
        return .publish(
            Publication(id: id, payload: payload, expiry: .at(noon.adding(seconds: 3_600))))
    }
}
