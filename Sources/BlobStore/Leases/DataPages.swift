internal import LMDB

/// Where borrowed bytes lie in `data.mdb`, for those who send them from there (`sendfile`) instead
/// of copying them.
///
/// On an `AF_UNIX` socket the kernel then hands the pages themselves to the receiver. They must
/// not be used again before it has read them: keep a lease until then, see ``LeaseQueue``.
public struct DataPages: Sendable {
    private let file: MappedFile

    init(_ file: MappedFile, pageByteCount: Int) {
        self.file = file
        stretchByteCountMin = max(Self.byteCountMin, pageByteCount)
    }

    /// The descriptor of `data.mdb`. It belongs to the store; use it while the store is there, and
    /// only to send from.
    public var descriptor: Int32 { file.descriptor }

    /// How many bytes a stretch of this store must have at least, so that a lease keeps its pages.
    ///
    /// A short chunk shares its page with other entries, and is copied with them when one of them
    /// changes; the page is then used again, lease or not. LMDB gives a value pages of its own when
    /// it is longer than about half a page; this is a whole one, to be sure. The file says how long
    /// a page is: 4,096 bytes, or up to 32,768 where it was made on a machine with longer ones.
    public let stretchByteCountMin: Int

    /// For the shortest pages: nothing shorter is sent from any store's file.
    public static let byteCountMin = 4_096

    /// Where in the file a stretch begins.
    ///
    /// - Parameter bytes: of ``Snapshot/storedBytes(of:from:)``, from this store.
    @inline(__always)
    public func offset(of bytes: UnsafeRawPointer) -> Int { file.offset(of: bytes) }
}
