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
    package mutating func begin(_ name: String) { begin(name, adding: 0) { _ in } }

    /// Begins a member whose value takes at most `byteCount` bytes, and which `append` appends in the same step.
    @inline(__always)
    private mutating func begin(
        _ name: String, adding byteCount: Int, _ append: (inout OutputSpan<UInt8>) -> Void
    ) {
        let needsComma = needsComma
        let name = name.utf8.span.bytes
        self.append(addingCapacity: name.byteCount + 4 + byteCount) { room in
            if needsComma { room.append(UInt8(ascii: ",")) }
            room.append(quoted: name)
            room.append(UInt8(ascii: ":"))
            append(&room)
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
        let bytes = text.utf8.span.bytes
        if bytes.isPlainJSON {
            begin(name, adding: bytes.byteCount + 2) { $0.append(quoted: bytes) }
        } else {
            begin(name)
            JSONText.appendEscaped(bytes, to: &self)
        }
    }

    package mutating func add(_ name: String, orNull text: String?) {
        if let text { return add(name, text) }
        begin(name)
        append("null")
    }

    package mutating func add(_ name: String, _ number: Int) {
        begin(name, adding: Decimal.digitCountMax + 1) { room in
            if number < 0 { room.append(UInt8(ascii: "-")) }
            Decimal.append(UInt64(number.magnitude), to: &room)
        }
    }

    package mutating func add(_ name: String, _ number: UInt64) {
        begin(name, adding: Decimal.digitCountMax) { Decimal.append(number, to: &$0) }
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
        begin(name, adding: RFC3339.roomByteCount + 2) { room in
            room.append(UInt8(ascii: "\""))
            RFC3339.append(milliseconds, to: &room)
            room.append(UInt8(ascii: "\""))
        }
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
