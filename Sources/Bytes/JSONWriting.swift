// Writing a JSON document member by member, straight into the bytes that are sent.

extension [UInt8] {
    /// Appends an object, whose members the closure appends.
    package mutating func object(_ members: (inout [UInt8]) -> Void) {
        append("{")
        members(&self)
        append("}")
    }

    /// Begins a member, whose value is appended next. Names need no escapes.
    package mutating func begin(_ name: String) {
        separate()
        append("\"")
        append(text: name)
        append("\":")
    }

    /// Appends a comma, unless an object or a list has just begun.
    private mutating func separate() {
        if last != UInt8(ascii: "{"), last != UInt8(ascii: "[") { append(",") }
    }

    /// Adds a text; nothing where there is none.
    package mutating func add(_ name: String, _ text: String?) {
        guard let text else { return }
        begin(name)
        JSONText.append(text, to: &self)
    }

    package mutating func add(_ name: String, orNull text: String?) {
        if let text { return add(name, text) }
        begin(name)
        append("null")
    }

    package mutating func add(_ name: String, _ number: Int) {
        begin(name)
        if number < 0 { append("-") }
        Decimal.append(UInt64(number.magnitude), to: &self)
    }

    package mutating func add(_ name: String, _ number: UInt64) {
        begin(name)
        Decimal.append(number, to: &self)
    }

    package mutating func add(_ name: String, _ flag: Bool) {
        begin(name)
        append(flag ? "true" : "false")
    }

    /// Adds a text that needs no escapes.
    package mutating func add(_ name: String, quoted append: (inout [UInt8]) -> Void) {
        begin(name)
        self.append("\"")
        append(&self)
        self.append("\"")
    }

    /// Adds a moment, in milliseconds since 1970.
    package mutating func add(_ name: String, moment milliseconds: Int64) {
        add(name, quoted: { RFC3339.append(milliseconds, to: &$0) })
    }

    /// Adds a list, whose elements the closure appends one by one.
    package mutating func add<Value>(
        _ name: String, _ elements: some Sequence<Value>,
        _ append: (Value, inout [UInt8]) -> Void
    ) {
        begin(name)
        self.append("[")
        for element in elements {
            separate()
            append(element, &self)
        }
        self.append("]")
    }

    package mutating func add(_ name: String, _ texts: [String]) {
        begin(name)
        JSONText.append(texts, to: &self)
    }

    package mutating func add(_ name: String, _ numbers: [Int]) {
        add(name, numbers) { $1.append(text: "\($0)") }
    }
}
