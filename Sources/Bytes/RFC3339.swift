/// Times in the format of RFC 3339 (section 5.6), to and from milliseconds since 1970.
package enum RFC3339 {
    /// The last representable time, 9999-12-31T23:59:59.999Z, in milliseconds since 1970.
    package static let millisecondsMax: Int64 = 253_402_300_799_999

    /// Appends a time in UTC with milliseconds, `2026-12-01T00:00:00.000Z`. Times outside of the years 1970 to 9999 are
    /// clamped.
    package static func append(_ milliseconds: Int64, to out: inout [UInt8]) {
        out.append(addingCapacity: roomByteCount) { append(milliseconds, to: &$0) }
    }

    /// The room that ``append(_:to:)`` needs: a time has 24 bytes, and they are written eight at a time.
    static var roomByteCount: Int { 32 }

    static func append(_ milliseconds: Int64, to room: inout OutputSpan<UInt8>) {
        let time = UInt64(min(max(milliseconds, 0), millisecondsMax))
        let date = CivilDate(dayNumber: Int(time / 86_400_000))
        let second = time / 1_000 % 86_400
        let clock = (second / 3_600 * 100 + second / 60 % 60) * 100 + second % 60
        let days = Decimal.eightDigits(of: UInt32((date.year * 100 + date.month) * 100 + date.day))
        // Hours, minutes, seconds and the first two digits of the milliseconds.
        let clockDigits = Decimal.eightDigits(of: UInt32(clock * 100 + time / 10 % 100))
        room.append(first: 4, of: days)
        room.append(UInt8(ascii: "-"))
        room.append(first: 2, of: days &>> 32)
        room.append(UInt8(ascii: "-"))
        room.append(first: 2, of: days &>> 48)
        room.append(UInt8(ascii: "T"))
        room.append(first: 2, of: clockDigits)
        room.append(UInt8(ascii: ":"))
        room.append(first: 2, of: clockDigits &>> 16)
        room.append(UInt8(ascii: ":"))
        room.append(first: 2, of: clockDigits &>> 32)
        room.append(UInt8(ascii: "."))
        room.append(first: 2, of: clockDigits &>> 48)
        room.append(UInt8(truncatingIfNeeded: time % 10) + 0x30)
        room.append(UInt8(ascii: "Z"))
    }

    package static func text(_ milliseconds: Int64) -> String {
        var bytes: [UInt8] = []
        append(milliseconds, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads `2026-12-01T00:00:00Z`, optionally with a fraction of a second (cut off after three digits) and with an
    /// offset instead of `Z`. Nil for anything else, and for a leap second. The time may be outside of the years 1970
    /// to 9999.
    package static func milliseconds(_ text: RawSpan) -> Int64? {
        let count = text.byteCount
        guard count >= 20, text.byte(4) == UInt8(ascii: "-"), text.byte(7) == UInt8(ascii: "-"),
            text.byte(10) | 0x20 == UInt8(ascii: "t"), text.byte(13) == UInt8(ascii: ":"),
            text.byte(16) == UInt8(ascii: ":"),
            let year = number(text, 0, 4), let month = number(text, 5, 2),
            let day = number(text, 8, 2), let hour = number(text, 11, 2),
            let minute = number(text, 14, 2), let second = number(text, 17, 2),
            (1...12).contains(month), day >= 1,
            day <= CivilDate.dayCount(year: year, month: month), hour < 24, minute < 60, second < 60
        else { return nil }
        var index = 19
        guard let fraction = fraction(text, &index), let offset = offset(text, index) else {
            return nil
        }
        let dayNumber = CivilDate(year: year, month: month, day: day).dayNumber
        let seconds = dayNumber * 86_400 + hour * 3_600 + minute * 60 + second - offset
        return Int64(seconds) * 1_000 + Int64(fraction)
    }

    /// A number of exactly `digits` digits, at most four.
    private static func number(_ text: RawSpan, _ start: Int, _ digits: Int) -> Int? {
        var value = 0
        for index in start..<(start + digits) {
            guard Decimal.isDigit(text.byte(index)) else { return nil }
            value = value * 10 + Int(text.byte(index) - 0x30)
        }
        return value
    }

    /// Milliseconds after the point, 0 without one; nil if no digit follows it.
    private static func fraction(_ text: RawSpan, _ index: inout Int) -> Int? {
        guard text.byte(index) == UInt8(ascii: ".") else { return 0 }
        index += 1
        let start = index
        var value = 0
        var unit = 100
        while index < text.byteCount, Decimal.isDigit(text.byte(index)) {
            value += unit * Int(text.byte(index) - 0x30)
            unit /= 10
            index += 1
        }
        return index > start ? value : nil
    }

    /// The offset from UTC in seconds: `Z` or `±hh:mm`, with nothing after it.
    private static func offset(_ text: RawSpan, _ index: Int) -> Int? {
        guard index < text.byteCount else { return nil }
        let sign: Int
        switch text.byte(index) {
        case UInt8(ascii: "Z"), UInt8(ascii: "z"): return index + 1 == text.byteCount ? 0 : nil
        case UInt8(ascii: "+"): sign = 1
        case UInt8(ascii: "-"): sign = -1
        default: return nil
        }
        guard index + 6 == text.byteCount, text.byte(index + 3) == UInt8(ascii: ":"),
            let hours = number(text, index + 1, 2), let minutes = number(text, index + 4, 2),
            hours < 24, minutes < 60
        else { return nil }
        return sign * (hours * 3_600 + minutes * 60)
    }
}

/// A day of the Gregorian calendar and its number, counted from 1970-01-01. Integer arithmetic on years that begin in
/// March, so that the leap day is last and the lengths of months follow a regular pattern.
package struct CivilDate {
    package var year: Int
    package var month: Int
    package var day: Int

    /// The number of days from 1970-01-01 to this day.
    package var dayNumber: Int {
        let shiftedYear = month > 2 ? year : year - 1
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    package init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    package init(dayNumber: Int) {
        let shifted = dayNumber + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    package static func dayCount(year: Int, month: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
