import Glibc
import ObjectStore

// Puts, reads and deletes objects with one client, as the process's only work: what a client takes of memory and time.
//
//     object-store-load s3://bucket/prefix COUNT BYTES
//
// Prints a line of figures. The bucket is found as `blobd probe` finds it.

/// The process's resident memory, in KiB (`VmRSS`).
func residentKibibytes() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 128)
    guard fgets(&line, 128, file) != nil else { return 0 }
    let text = String(
        decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * Int(sysconf(Int32(_SC_PAGESIZE))) / 1_024
}

func milliseconds(_ sorted: [Int], _ share: Double) -> String {
    let value = sorted[min(Int(Double(sorted.count) * share), sorted.count - 1)]
    return "\(Double(value / 10) / 100)"
}

func load(_ url: String, count: Int, byteCount: Int) throws(ObjectStoreError) {
    let atStart = residentKibibytes()
    let bucket = try ObjectBucket(url)
    let client = try bucket.makeClient()
    let body = [UInt8](repeating: 0x61, count: byteCount)
    var puts: [Int] = []
    var gets: [Int] = []
    puts.reserveCapacity(count)
    gets.reserveCapacity(count)
    var warm = 0
    for number in 0..<count {
        let name = "load/\(number % 100)"
        var start = MonotonicClock.microseconds()
        try client.put(name, body.span.bytes)
        puts.append(MonotonicClock.microseconds() - start)
        start = MonotonicClock.microseconds()
        let found = try client.get(name, byteCountMax: byteCount)
        gets.append(MonotonicClock.microseconds() - start)
        guard found == body else {
            throw ObjectStoreError(.badAnswer, "\(name): other bytes")
        }
        if number % 10 == 0 { _ = try client.list("load/", keyCountMax: 100) }
        try client.delete(name)
        if number == count / 4 { warm = residentKibibytes() }
    }
    let atEnd = residentKibibytes()
    puts.sort()
    gets.sort()
    print(
        "put p50 \(milliseconds(puts, 0.5)) p99 \(milliseconds(puts, 0.99)) get p50 \(milliseconds(gets, 0.5)) p99 \(milliseconds(gets, 0.99)) ms; KiB start \(atStart) warm \(warm) end \(atEnd)"
    )
}

let arguments = CommandLine.arguments
guard arguments.count == 4, let count = Int(arguments[2]), let byteCount = Int(arguments[3]),
    count > 0
else {
    print("usage: object-store-load s3://bucket/prefix COUNT BYTES")
    exit(2)
}
do throws(ObjectStoreError) {
    try load(arguments[1], count: count, byteCount: byteCount)
} catch {
    print("\(error)")
    exit(1)
}
