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
