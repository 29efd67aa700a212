import BlobProtocol
import BlobStore
import Bytes

// A line of the access log.

extension AnsweredRequest {
    /// Appends the line with its end. `byteCount` is the answer's, its head included.
    func append(
        _ format: AccessLogFormat, _ request: LoggedRequest, byteCount: Int, to out: inout [UInt8]
    ) {
        switch format {
        case .json: appendJSON(request, byteCount, to: &out)
        case .combined: appendCombined(request, byteCount, to: &out)
        }
        out.append("\n")
    }

    private func appendJSON(_ request: LoggedRequest, _ byteCount: Int, to out: inout [UInt8]) {
        out.object {
            $0.add("time", moment: at.milliseconds)
            $0.add("socket", request.isDevice ? "device" : "main")
            $0.add("uid", Int(request.userID))
            $0.add("protocol", request.version.description)
            $0.add("operation", operation.rawValue)
            $0.add("method", request.method.description)
            $0.add("target", request.target)
            $0.add("status", Int(status))
            $0.add("code", code?.rawValue)
            $0.add("bytes", byteCount)
            $0.begin("duration_ms")
            Milliseconds.append(nanoseconds, to: &$0)
            if !request.userAgent.isEmpty { $0.add("user_agent", request.userAgent) }
        }
    }

    /// `unix: - UID [time] "GET /path HTTP/1.1" status bytes "-" "agent"`: nginx's word for a client at
    /// a Unix socket.
    private func appendCombined(
        _ request: LoggedRequest, _ byteCount: Int, to out: inout [UInt8]
    ) {
        out.append("unix: - ")
        Decimal.append(UInt64(request.userID), to: &out)
        out.append(" [")
        appendTime(to: &out)
        out.append("] \"")
        out.append(request.method)
        out.append(" ")
        out.append(text: Self.quoted(request.target))
        out.append(" ")
        out.append(request.version)
        out.append("\" ")
        Decimal.append(UInt64(status), to: &out)
        out.append(" ")
        Decimal.append(UInt64(byteCount), to: &out)
        out.append(" \"-\" \"")
        out.append(text: request.userAgent.isEmpty ? "-" : Self.quoted(request.userAgent))
        out.append("\"")
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private func appendTime(to out: inout [UInt8]) {
        let seconds = max(0, at.milliseconds / 1_000)
        let date = CivilDate(dayNumber: Int(seconds / 86_400))
        Decimal.append(UInt64(date.day), digits: 2, to: &out)
        out.append("/")
        out.append(text: Self.months[date.month - 1])
        out.append("/")
        Decimal.append(UInt64(date.year), digits: 4, to: &out)
        for part in [seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60] {
            out.append(":")
            Decimal.append(UInt64(part), digits: 2, to: &out)
        }
        out.append(" +0000")
    }

    /// Without quotation marks, as nginx escapes them.
    private static func quoted(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "\"")) || text.utf8.contains(UInt8(ascii: "\\"))
        else { return text }
        return text.utf8.reduce(into: "") { quoted, byte in
            switch byte {
            case UInt8(ascii: "\""): quoted += "\\x22"
            case UInt8(ascii: "\\"): quoted += "\\x5C"
            default: quoted.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
    }
}

/// Milliseconds with three digits behind the point.
enum Milliseconds {
    static func append(_ nanoseconds: Int64, to out: inout [UInt8]) {
        let microseconds = UInt64(max(0, nanoseconds)) / 1_000
        Decimal.append(microseconds / 1_000, to: &out)
        out.append(UInt8(ascii: "."))
        Decimal.append(microseconds % 1_000, digits: 3, to: &out)
    }

    static func text(_ nanoseconds: Int64) -> String {
        var text: [UInt8] = []
        append(nanoseconds, to: &text)
        return String(decoding: text, as: UTF8.self)
    }
}
