/// Which of the changes that no sync covers are on the disk after a cut.
enum Survival: CaseIterable {
    case none, all
    /// Only the last one, or only the first ones, as on a disk that keeps the order.
    case last, prefix
    /// Each or not, whole.
    case some
    /// Any sectors of any.
    case sectors
    /// Only the first sectors of each; only the first two pages of the file.
    case firstSectors, firstPages

    var words: String {
        switch self {
        case .none: "none"
        case .all: "all"
        case .last: "the last"
        case .prefix: "the first ones"
        case .some: "some, whole"
        case .sectors: "some sectors"
        case .firstSectors: "first sectors"
        case .firstPages: "those of the first two pages"
        }
    }
}

/// What a file's size is after a cut, where writes that no sync covers were to make it longer.
enum SizeSurvival: CaseIterable {
    /// It ends with the last sector that is there.
    case withBytes
    /// It is as long as the write was to make it; what is missing reads as zeros.
    case ahead
    /// It has stayed as it was.
    case behind
}
