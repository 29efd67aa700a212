import BlobProtocol

/// What a connection's earlier bytes have decided for its later ones.
struct Session {
    /// Whether it came by the device socket, which answers links only.
    var isDevice = false
    /// The user at the other end, for logs.
    var userID: UInt32 = 0
    /// Told by the first byte; nil before that.
    var dialect: Dialect?
    /// Whether the binary protocol's hello has been answered.
    var isGreeted = false
    /// Whether the next request has waited for the writer already, so that every snapshot from now
    /// on has what it reads.
    var hasWaited = false
    /// How far the end of an HTTP head has been looked for, in input that is not a whole head yet.
    var headScanner = HeadScanner()
}
