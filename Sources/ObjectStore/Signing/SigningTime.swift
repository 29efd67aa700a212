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
        var out = day
        let second = UInt64(seconds % 86_400)
        out.append(UInt8(ascii: "T"))
        Decimal.append(second / 3_600, digits: 2, to: &out)
        Decimal.append(second / 60 % 60, digits: 2, to: &out)
        Decimal.append(second % 60, digits: 2, to: &out)
        out.append(UInt8(ascii: "Z"))
        return out
    }

    var day: [UInt8] {
        var out: [UInt8] = []
        let date = CivilDate(dayNumber: Int(seconds / 86_400))
        Decimal.append(UInt64(date.year), digits: 4, to: &out)
        Decimal.append(UInt64(date.month), digits: 2, to: &out)
        Decimal.append(UInt64(date.day), digits: 2, to: &out)
        return out
    }
}

/// The clock that signatures are made by: ours, and what it differs from the server's once a server refused ours.
package final class SigningClock: Sendable {
    private let wallSeconds: @Sendable () -> Int64
    private let offset = Atomic<Int64>(0)

    /// - Parameter wallSeconds: our clock, in seconds since 1970; tests have others.
    package init(
        wallSeconds: @escaping @Sendable () -> Int64 = { Int64(Glibc.time(nil)) }
    ) {
        self.wallSeconds = wallSeconds
    }

    var now: SigningTime {
        SigningTime(seconds: wallSeconds() &+ offset.load(ordering: .relaxed))
    }

    /// What is added to our clock, in seconds.
    package var offsetSeconds: Int64 { offset.load(ordering: .relaxed) }

    /// Signs by a server's clock from now on.
    ///
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
        let bytes = Array(text.utf8)
        guard bytes.count == 29, text.hasSuffix(" GMT"), bytes[3] == UInt8(ascii: ","),
            bytes[4] == 0x20, bytes[7] == 0x20, bytes[11] == 0x20, bytes[16] == 0x20,
            bytes[19] == UInt8(ascii: ":"), bytes[22] == UInt8(ascii: ":"),
            let day = number(bytes[5..<7]), let year = number(bytes[12..<16]),
            let hour = number(bytes[17..<19]), let minute = number(bytes[20..<22]),
            let second = number(bytes[23..<25]),
            let index = months.firstIndex(of: String(decoding: bytes[8..<11], as: UTF8.self)),
            year >= 1970, day >= 1, day <= CivilDate.dayCount(year: year, month: index + 1),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        let dayNumber = CivilDate(year: year, month: index + 1, day: day).dayNumber
        return Int64(dayNumber * 86_400 + hour * 3_600 + minute * 60 + second)
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        guard digits.allSatisfy(Decimal.isDigit) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
}
