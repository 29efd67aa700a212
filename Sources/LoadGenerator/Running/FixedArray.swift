/// As many elements as it was made with, in memory of its own, for the loop: no reference counts,
/// no growing, and elements that cannot be copied. Every access is checked against its bounds.
struct FixedArray<Element: ~Copyable>: ~Copyable {
    /// How many elements there are.
    let count: Int
    // Allocated and initialised in `init`, freed in `deinit`, and never handed out: an element
    // borrows the array.
    private let elements: UnsafeMutablePointer<Element>

    /// Makes `count` elements. When `element` throws, those made before are ended.
    init<Failure: Error>(
        count: Int, _ element: (Int) throws(Failure) -> Element
    ) throws(Failure) {
        precondition(count >= 0)
        let made = UnsafeMutablePointer<Element>.allocate(capacity: count)
        for index in 0..<count {
            do throws(Failure) {
                (made + index).initialize(to: try element(index))
            } catch {
                made.deinitialize(count: index)
                made.deallocate()
                throw error
            }
        }
        self.count = count
        elements = made
    }

    deinit {
        elements.deinitialize(count: count)
        elements.deallocate()
    }

    // Addressors rather than coroutines, which the compiler cannot build for the thread sanitizer.
    subscript(index: Int) -> Element {
        unsafeAddress {
            precondition(index >= 0 && index < count)
            return UnsafePointer(elements + index)
        }
        unsafeMutableAddress {
            precondition(index >= 0 && index < count)
            return elements + index
        }
    }
}
