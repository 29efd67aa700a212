import BlobProtocol
import Bytes

/// A flat object of numbers, as `stats` answers it.
struct NumbersDocument {
    private var bytes: [UInt8] = Array("{".utf8)
    private var isFirst = true

    /// Adds a number.
    mutating func add(_ name: String, _ value: Int) {
        begin(name)
        if value < 0 { bytes.append("-") }
        Decimal.append(UInt64(value.magnitude), to: &bytes)
    }

    /// Adds a text.
    mutating func add(_ name: String, _ value: String) {
        begin(name)
        JSONText.append(value, to: &bytes)
    }

    /// Adds an object.
    mutating func add(_ name: String, _ value: consuming NumbersDocument) {
        begin(name)
        bytes.append(contentsOf: value.finished())
    }

    /// The document.
    func finished() -> [UInt8] { bytes + [UInt8(ascii: "}")] }

    private mutating func begin(_ name: String) {
        if !isFirst { bytes.append(",") }
        isFirst = false
        JSONText.append(name, to: &bytes)
        bytes.append(":")
    }
}
