import Bytes
import Glibc
import Synchronization

/// A moment as signatures have it: `20130524T000000Z`, and its day.
struct SigningTime: Equatable {
    let seconds: Int64

    /// The time that is signed: at most the year 9999.
    init(seconds: Int64) {
        self.seconds = min(max(seconds, 0), RFC3339.millisecondsMax / 1_000)
    }

    var text: [UInt8] {
        var time: [UInt8] = []
        RFC3339.append(seconds * 1_000, to: &time)
        // Without the marks, and the milliseconds.
        return time.prefix(19).filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: ":") }
            + [UInt8(ascii: "Z")]
    }

    var day: [UInt8] { Array(text.prefix(8)) }
}

/// The clock that signatures are made by: ours, and what it differs from the server's once a server refused ours.
package final class SigningClock: Sendable {
    private let wallSeconds: @Sendable () -> Int64
    private let offset = Atomic<Int64>(0)

    package init(
        wallSeconds: @escaping @Sendable () -> Int64 = { Int64(Glibc.time(nil)) }
    ) {
        self.wallSeconds = wallSeconds
    }

    var now: SigningTime {
        SigningTime(seconds: wallSeconds() &+ offset.load(ordering: .relaxed))
    }

    package var offsetSeconds: Int64 { offset.load(ordering: .relaxed) }

    /// - Returns: whether that changes what is signed by more than a second or two.
    func follow(serverSeconds: Int64) -> Bool {
        let difference = serverSeconds &- wallSeconds()
        let before = offset.exchange(difference, ordering: .relaxed)
        return (difference &- before).magnitude > 2
    }
}

/// The `Date` of an answer (RFC 9110, section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
enum ServerDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Seconds since 1970, or nil for anything else. The name of the day is not compared.
    static func seconds(_ text: String) -> Int64? {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, words[0].utf8.count == 4, words[0].hasSuffix(","),
            words[5] == "GMT", let index = months.firstIndex(of: String(words[2]))
        else { return nil }
        let month = (index < 9 ? "0" : "") + String(index + 1)
        let moment = "\(words[3])-\(month)-\(words[1])T\(words[4])Z"
        return RFC3339.milliseconds(moment.utf8.span.bytes).flatMap { $0 < 0 ? nil : $0 / 1_000 }
    }
}
