package import BlobStore
import Glibc

/// What a walk's process says, line by line, and how that is read.
///
///     problem TEXT            page TEXT          one that is of the pages
///     bytes DONE TOTAL        failed TEXT
///     end NOTIFICATIONS PARTS BLOBS ORPHANS BYTES PROBLEMS PAGEPROBLEMS CHANGESINLOG EVICTED
package struct WalkLines {
    private(set) var report = VerifyReport()
    private(set) var isEnded = false
    private(set) var failure: String?

    /// Reads until the other end is closed.
    mutating func read(from descriptor: Int32, progress: (UInt64, UInt64) -> Void) {
        var rest: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = buffer.withUnsafeMutableBytes {
                Glibc.read(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest += buffer[..<count]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                take(String(decoding: rest[..<end], as: UTF8.self), progress)
                rest.removeSubrange(...end)
            }
        }
    }

    private mutating func take(_ line: String, _ progress: (UInt64, UInt64) -> Void) {
        let words = line.split(separator: " ", maxSplits: 1)
        guard words.count == 2 else { return }
        let numbers = words[1].split(separator: " ").compactMap { UInt64($0) }
        switch words[0] {
        case "problem": report.add(String(words[1]))
        case "page":
            var pages = VerifyReport()
            pages.add(String(words[1]))
            report.add(pages: pages)
        case "bytes" where numbers.count == 2: progress(numbers[0], numbers[1])
        case "failed": failure = String(words[1])
        case "end" where numbers.count == 9:
            isEnded = true
            report.notifications = Int(clamping: numbers[0])
            report.parts = Int(clamping: numbers[1])
            report.blobs = Int(clamping: numbers[2])
            report.orphans = Int(clamping: numbers[3])
            report.bytesStored = Int(clamping: numbers[4])
            // Only so many are described.
            report.problemCount = max(report.problemCount, Int(clamping: numbers[5]))
            report.pageProblemCount = max(report.pageProblemCount, Int(clamping: numbers[6]))
            report.changesInLog = Int(clamping: numbers[7])
            report.evictedBlobs = Int(clamping: numbers[8])
        default: break
        }
    }

    // MARK: Writing

    package static func problem(_ text: String, ofPages: Bool = false) -> String {
        "\(ofPages ? "page" : "problem") \(oneLine(text))\n"
    }

    package static func bytes(_ done: Int, of total: Int) -> String { "bytes \(done) \(total)\n" }

    package static func failed(_ text: String) -> String { "failed \(oneLine(text))\n" }

    package static func end(_ report: VerifyReport) -> String {
        let numbers = [
            report.notifications, report.parts, report.blobs, report.orphans, report.bytesStored,
            report.problemCount, report.pageProblemCount, report.changesInLog,
            report.evictedBlobs,
        ]
        return "end \(numbers.map { "\($0)" }.joined(separator: " "))\n"
    }

    /// Texts from a damaged store may have anything in them, which a terminal should not see.
    private static func oneLine(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 ? "?" : $0 }))
    }
}
