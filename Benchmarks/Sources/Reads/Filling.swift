import BlobStore
import Glibc

/// The lines of a file.
func identifiers(_ path: String) throws -> [String] {
    guard let file = fopen(path, "r") else { throw NotThere(id: path) }
    defer { fclose(file) }
    var ids: [String] = []
    var line = [CChar](repeating: 0, count: 512)
    while fgets(&line, Int32(line.count), file) != nil {
        ids.append(
            String(
                decoding: line.prefix { $0 != 10 && $0 != 0 }.map { UInt8(bitPattern: $0) },
                as: UTF8.self))
    }
    return ids
}

/// Less than the default: valgrind gives a process no 256 GiB of addresses.
let options = {
    var options = BlobStore.Options()
    options.mapByteCountMax = 16 << 30
    return options
}()

/// Makes a store of `count` notifications with bytes of their own, and a list of their ids.
func fill(_ folder: String, list: String, count: Int, byteCount: Int, idLength: Int) throws {
    let store = try BlobStore.open(at: folder, options: options)
    var generator = Generator()
    guard let file = fopen(list, "w") else { throw NotThere(id: list) }
    defer { fclose(file) }
    var changes: [Change] = []
    let time = now()
    for _ in 0..<count {
        let digits = (0..<max(1, (idLength + 15) / 16)).map { _ in
            let hex = String(generator.next(), radix: 16)
            return String(repeating: "0", count: 16 - hex.count) + hex
        }
        let id = String(digits.joined().prefix(max(12, idLength)))
        fputs("\(id)\n", file)
        changes.append(.publish(try publication(store, id, byteCount, &generator, time)))
        if changes.count == 256 {
            try check(store.apply(changes, asOf: time))
            changes.removeAll()
        }
    }
    try check(store.apply(changes, asOf: time))
}

/// Replaces payloads, one by one, as a publisher at work does.
func replace(_ store: BlobStore, ids: [String], seconds: Double, pause: UInt32) throws {
    var generator = Generator(state: 7)
    let begin = elapsedSeconds()
    var writes = 0
    while elapsedSeconds() - begin < seconds {
        let id = ids[generator.index(ids.count)]
        let time = now()
        let change = try publication(store, id, 1_024, &generator, time)
        try check(store.apply([.publish(change)], asOf: time))
        writes += 1
        if writes % 64 == 0 { _ = try store.freeOrphans(byteCountMax: 1 << 20) }
        if pause > 0 { usleep(pause) }
    }
    print("{\"writes\":\(writes)}")
}

private func publication(
    _ store: BlobStore, _ id: String, _ byteCount: Int, _ generator: inout Generator,
    _ time: Timestamp
) throws -> Publication {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(byteCount + 8)
    while bytes.count < byteCount {
        withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0) }
    }
    bytes.removeLast(bytes.count - byteCount)
    var writer = store.makePayloadWriter()
    try writer.append(bytes.span.bytes)
    return Publication(
        id: id, payload: try writer.finish(mediaType: "image/png"),
        expiry: .at(time.adding(seconds: 20 * 86_400)))
}

private func check(_ outcomes: [Outcome]) throws {
    for case .refused(let error) in outcomes { throw error }
}
