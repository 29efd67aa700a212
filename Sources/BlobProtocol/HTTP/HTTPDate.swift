import Bytes

/// Times as HTTP writes them (RFC 9110, section 5.6.7).
public enum HTTPDate {
    /// Appends `Sun, 06 Nov 1994 08:49:37 GMT`. Times outside of the years 1970 to 9999 are moved
    /// to the nearest end.
    public static func append(seconds: Int64, to out: inout [UInt8]) {
        let time = UInt64(min(max(seconds, 0), WireLimits.expiryMillisecondsMax / 1_000))
        let day = Int(time / 86_400)
        let date = CivilDate(dayNumber: day)
        let second = time % 86_400
        // 1970-01-01 was a Thursday.
        append("SunMonTueWedThuFriSat", at: (day + 4) % 7, to: &out)
        out.append(", ")
        Decimal.append(UInt64(date.day), digits: 2, to: &out)
        out.append(UInt8(ascii: " "))
        append("JanFebMarAprMayJunJulAugSepOctNovDec", at: date.month - 1, to: &out)
        out.append(UInt8(ascii: " "))
        Decimal.append(UInt64(date.year), digits: 4, to: &out)
        out.append(UInt8(ascii: " "))
        Decimal.append(second / 3_600, digits: 2, to: &out)
        out.append(UInt8(ascii: ":"))
        Decimal.append(second / 60 % 60, digits: 2, to: &out)
        out.append(UInt8(ascii: ":"))
        Decimal.append(second % 60, digits: 2, to: &out)
        out.append(" GMT")
    }

    /// Appends one of the names of three letters.
    private static func append(_ names: StaticString, at index: Int, to out: inout [UInt8]) {
        names.withUTF8Buffer { out.append(contentsOf: $0[(3 * index)..<(3 * index + 3)]) }
    }
}
