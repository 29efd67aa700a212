import Bytes

/// Writes the head of a response piece by piece: `begin`, the fields, and an empty line.
public enum HTTPResponseHead {
    /// The whole interim answer to `Expect: 100-continue` (RFC 9110, section 15.2.1).
    public static let interimContinue: StaticString = "HTTP/1.1 100 Continue\r\n\r\n"

    /// Appends the status line. An unknown status has no reason phrase (RFC 9112, section 4).
    public static func begin(_ status: UInt16, into out: inout [UInt8]) {
        if let line = statusLine(status) {
            out.append(line)
        } else {
            out.append("HTTP/1.1 ")
            Decimal.append(UInt64(status), digits: 3, to: &out)
            out.append(" \r\n")
        }
    }

    /// Appends a field line.
    public static func field(
        _ name: StaticString, _ value: StaticString, into out: inout [UInt8]
    ) {
        out.append(name)
        out.append(": ")
        out.append(value)
        out.append("\r\n")
    }

    /// Appends a field line whose value is a number.
    public static func field(_ name: StaticString, _ value: UInt64, into out: inout [UInt8]) {
        out.append(name)
        out.append(": ")
        Decimal.append(value, to: &out)
        out.append("\r\n")
    }

    /// Appends a field line with a value from elsewhere. Control characters in it are omitted, so that it cannot end
    /// the line; checked values contain none.
    public static func field(_ name: StaticString, _ value: RawSpan, into out: inout [UInt8]) {
        out.append(name)
        out.append(": ")
        // Nearly always all of it.
        let plain = value.printableByteCount
        out.append(contentsOf: value.extracting(first: plain))
        for index in plain..<value.byteCount where Token.isFieldContent(value.byte(index)) {
            out.append(value.byte(index))
        }
        out.append("\r\n")
    }

    /// Appends the `Date` field (RFC 9110, section 6.6.1).
    public static func date(seconds: Int64, into out: inout [UInt8]) {
        out.append("Date: ")
        HTTPDate.append(seconds: seconds, to: &out)
        out.append("\r\n")
    }

    private static func statusLine(_ status: UInt16) -> StaticString? {
        switch status {
        case 200: "HTTP/1.1 200 OK\r\n"
        case 201: "HTTP/1.1 201 Created\r\n"
        case 204: "HTTP/1.1 204 No Content\r\n"
        case 206: "HTTP/1.1 206 Partial Content\r\n"
        case 304: "HTTP/1.1 304 Not Modified\r\n"
        case 400: "HTTP/1.1 400 Bad Request\r\n"
        case 401: "HTTP/1.1 401 Unauthorized\r\n"
        case 403: "HTTP/1.1 403 Forbidden\r\n"
        case 404: "HTTP/1.1 404 Not Found\r\n"
        case 405: "HTTP/1.1 405 Method Not Allowed\r\n"
        case 406: "HTTP/1.1 406 Not Acceptable\r\n"
        case 408: "HTTP/1.1 408 Request Timeout\r\n"
        case 409: "HTTP/1.1 409 Conflict\r\n"
        case 410: "HTTP/1.1 410 Gone\r\n"
        case 411: "HTTP/1.1 411 Length Required\r\n"
        case 412: "HTTP/1.1 412 Precondition Failed\r\n"
        case 413: "HTTP/1.1 413 Content Too Large\r\n"
        case 414: "HTTP/1.1 414 URI Too Long\r\n"
        case 415: "HTTP/1.1 415 Unsupported Media Type\r\n"
        case 416: "HTTP/1.1 416 Range Not Satisfiable\r\n"
        case 417: "HTTP/1.1 417 Expectation Failed\r\n"
        case 422: "HTTP/1.1 422 Unprocessable Content\r\n"
        case 428: "HTTP/1.1 428 Precondition Required\r\n"
        case 429: "HTTP/1.1 429 Too Many Requests\r\n"
        case 431: "HTTP/1.1 431 Request Header Fields Too Large\r\n"
        case 500: "HTTP/1.1 500 Internal Server Error\r\n"
        case 501: "HTTP/1.1 501 Not Implemented\r\n"
        case 503: "HTTP/1.1 503 Service Unavailable\r\n"
        case 505: "HTTP/1.1 505 HTTP Version Not Supported\r\n"
        case 507: "HTTP/1.1 507 Insufficient Storage\r\n"
        default: nil
        }
    }
}

/// Times in HTTP's format (RFC 9110, section 5.6.7).
package enum HTTPDate {
    /// Appends `Sun, 06 Nov 1994 08:49:37 GMT`. Times outside of the years 1970 to 9999 are clamped.
    package static func append(seconds: Int64, to out: inout [UInt8]) {
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

    private static func append(_ names: StaticString, at index: Int, to out: inout [UInt8]) {
        names.withUTF8Buffer { out.append(contentsOf: $0[(3 * index)..<(3 * index + 3)]) }
    }
}
