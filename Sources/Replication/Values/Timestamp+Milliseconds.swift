internal import BlobStore

extension Timestamp {
    /// The moment so many milliseconds later; the last or first one that can be written where that is out of
    /// range.
    func adding(milliseconds span: Int64) -> Timestamp {
        let (sum, isOver) = milliseconds.addingReportingOverflow(span)
        return Timestamp(milliseconds: isOver ? (span < 0 ? .min : .max) : sum)
    }
}
