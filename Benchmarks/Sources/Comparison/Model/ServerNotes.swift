extension Server {
    /// What somebody who chooses it instead of blobd would have to do without, or do themselves.
    public var doesNot: String {
        switch self {
        case .blobd, .blobdHTTP:
            """
            Keeps payloads on disk, synced before a publish is answered; expires them to the \
            millisecond; stores equal bytes once; checks checksums. It is not a cache: it never \
            drops what has not expired, and says when it is full.
            """
        case .memcached:
            """
            Nothing is on disk: a restart loses everything, and what does not fit is dropped without \
            a word. Expires to the second. Equal bytes under two keys are stored twice. No ranges, \
            no media types.
            """
        case .redis:
            """
            The whole data set has to fit in memory. For fetches it ran without any persistence; \
            for publishes with a log that is synced before each answer, which grows until it is \
            rewritten. Equal bytes are stored twice. Not HTTP.
            """
        case .nginx:
            """
            Serves files that something else must write, name, sync and delete: no publishing, no \
            expiry, no checksums. Equal bytes are stored once only if the program that writes \
            the files links them.
            """
        case .varnish:
            """
            A cache in memory before a server that keeps the payloads; here all were in it. A \
            restart empties it. No publishing of its own.
            """
        case .baselineWritev, .baselineSendfile:
            """
            Finds a payload in blobd's own file and sends it, nothing else: no checksums, no expiry, \
            no leases, no deadlines, no limits, no publishing. The file must not change while it \
            reads. It is the mark, not a choice.
            """
        }
    }
}
