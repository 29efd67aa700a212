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
    /// What has become of the next request's wait for the writer, or for another thread.
    var wait = Wait.none
    /// How far the end of an HTTP head has been looked for, in input that is not a whole head yet.
    var headScanner = HeadScanner()

    /// What has become of a wait.
    enum Wait {
        /// There was none.
        case none
        /// Every snapshot from now on has what the request reads.
        case done
        /// The daemon stops. An answer now could be older than earlier ones.
        case inVain
    }
}
