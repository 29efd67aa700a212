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

    /// Adds a list of numbers.
    mutating func add(_ name: String, _ values: [Int]) {
        begin(name)
        bytes.append(contentsOf: "[\(values.map(String.init).joined(separator: ","))]".utf8)
    }

    /// Adds a list of objects.
    mutating func add(_ name: String, _ values: [NumbersDocument]) {
        begin(name)
        bytes.append("[")
        for (index, value) in values.enumerated() {
            if index > 0 { bytes.append(",") }
            bytes.append(contentsOf: value.finished())
        }
        bytes.append("]")
    }

    /// Adds the rows that have a name.
    mutating func add(_ figures: [Figure], of now: DaemonFigures) {
        for figure in figures {
            if let name = figure.name { add(name, figure.read(now)) }
        }
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
