// Writes a JSON document member by member, directly into the bytes that are sent.

extension [UInt8] {
    /// Appends an object, whose members the closure appends.
    package mutating func object(_ members: (inout [UInt8]) -> Void) {
        append(UInt8(ascii: "{"))
        members(&self)
        append(UInt8(ascii: "}"))
    }

    /// Begins a member; its value must be appended next. Names need no escapes.
    @usableFromInline
    package mutating func begin(_ name: String) {
        let needsComma = needsComma
        let name = name.utf8.span.bytes
        append(addingCapacity: name.byteCount + 4) { room in
            if needsComma { room.append(UInt8(ascii: ",")) }
            room.append(UInt8(ascii: "\""))
            room.append(name)
            room.append(UInt8(ascii: "\""))
            room.append(UInt8(ascii: ":"))
        }
    }

    /// Whether a comma comes next: always, unless an object or a list has just begun.
    @inlinable
    var needsComma: Bool {
        let last = self[count - 1]
        return last != UInt8(ascii: "{") && last != UInt8(ascii: "[")
    }

    /// Adds a text, or nothing if it is nil.
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
        self.append(UInt8(ascii: "\""))
        append(&self)
        self.append(UInt8(ascii: "\""))
    }

    /// Adds a time, in milliseconds since 1970.
    package mutating func add(_ name: String, moment milliseconds: Int64) {
        add(name, quoted: { RFC3339.append(milliseconds, to: &$0) })
    }

    /// Adds a list, whose elements the closure appends one by one.
    @inlinable
    package mutating func add<Value>(
        _ name: String, _ elements: some Sequence<Value>,
        _ append: (Value, inout [UInt8]) -> Void
    ) {
        begin(name)
        self.append(UInt8(ascii: "["))
        for element in elements {
            if needsComma { self.append(UInt8(ascii: ",")) }
            append(element, &self)
        }
        self.append(UInt8(ascii: "]"))
    }

    package mutating func add(_ name: String, _ texts: [String]) {
        begin(name)
        JSONText.append(texts, to: &self)
    }

    package mutating func add(_ name: String, _ numbers: [Int]) {
        add(name, numbers) { $1.append(text: "\($0)") }
    }
}
