internal import Bytes

/// A tree, and what was found of it so far.
struct WalkedTree {
    let name: String
    let tree: PageFile.Tree
    let hasNumberKeys: Bool
    /// Whether its leaves are read, and the headers of the pages that long values have.
    var readsLeaves = true
    var readsLongValues = true
    var branchCount: UInt64 = 0
    var leafCount: UInt64 = 0
    var overflowCount: UInt64 = 0
    var entryCount: UInt64 = 0
    /// What comes now must have a key behind this one, or this one.
    var floor: [UInt8] = []
    var mayBeFloor = true

    init(_ name: String, _ tree: PageFile.Tree, hasNumberKeys: Bool = false) {
        self.name = name
        self.tree = tree
        self.hasNumberKeys = hasNumberKeys
    }

    func mayHave(_ key: RawSpan) -> Bool {
        let floor = floor.span.bytes
        return floor.isEmpty || mayHave(key, behind: floor, orSame: mayBeFloor)
    }

    /// Whether a key is behind another one. `orSame`: whether it may be that one.
    func mayHave(_ key: RawSpan, behind other: RawSpan, orSame: Bool) -> Bool {
        guard !hasNumberKeys || (key.byteCount == 8 && other.byteCount == 8) else { return false }
        let order =
            hasNumberKeys
            ? key.integer(0, as: UInt64.self).order(to: other.integer(0)) : key.order(to: other)
        return order > 0 || (order == 0 && orSame)
    }
}

extension UInt64 {
    fileprivate func order(to other: UInt64) -> Int { self < other ? -1 : self > other ? 1 : 0 }
}

extension RawSpan {
    /// Of bytes, as `memcmp` has it; of two that begin alike the shorter one is first.
    fileprivate func order(to other: RawSpan) -> Int {
        let count = Swift.min(byteCount, other.byteCount)
        var start = 0
        while start &+ 8 <= count {
            let (left, right) = (word(start).bigEndian, other.word(start).bigEndian)
            if left != right { return left < right ? -1 : 1 }
            start &+= 8
        }
        for offset in start..<count {
            let (left, right) = (byte(offset), other.byte(offset))
            if left != right { return left < right ? -1 : 1 }
        }
        return byteCount < other.byteCount ? -1 : byteCount > other.byteCount ? 1 : 0
    }
}
