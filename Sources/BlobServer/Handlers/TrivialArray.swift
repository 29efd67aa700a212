/// An array of trivial values for lists that every request fills and empties: appending does not check for unique
/// ownership.
struct TrivialArray<Element>: ~Copyable {
    // Allocated and freed here. The first `count` of `capacity` elements are initialised.
    private var elements: UnsafeMutablePointer<Element>
    private var capacity: Int
    private(set) var count = 0

    init(capacity: Int) {
        precondition(_isPOD(Element.self), "not a plain value")
        elements = .allocate(capacity: capacity)
        self.capacity = capacity
    }

    deinit { elements.deallocate() }

    var isEmpty: Bool { count == 0 }

    var last: Element? {
        @inline(__always)
        get { count == 0 ? nil : elements[count - 1] }
    }

    subscript(index: Int) -> Element {
        @inline(__always)
        get {
            precondition(index >= 0 && index < count)
            return elements[index]
        }
        @inline(__always)
        set {
            precondition(index >= 0 && index < count)
            elements[index] = newValue
        }
    }

    /// Appends an element. Allocates only if the array was never this long.
    @inline(__always)
    mutating func append(_ element: Element) {
        if count == capacity { grow() }
        (elements + count).initialize(to: element)
        count += 1
    }

    @inline(__always)
    mutating func truncate(to count: Int) {
        precondition(count >= 0 && count <= self.count)
        self.count = count
    }

    @inline(__always)
    mutating func removeAll() { count = 0 }

    @inline(never)
    private mutating func grow() {
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: 2 * capacity)
        larger.moveInitialize(from: elements, count: count)
        elements.deallocate()
        elements = larger
        capacity *= 2
    }
}
