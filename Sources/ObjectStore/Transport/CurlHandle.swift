import Bytes
import CCurl
import Glibc

/// One connection that is kept alive, and the requests over it, one at a time. Not for two threads at once.
///
/// It is driven by libcurl's multi interface, because that waits for the stop signal, too. libcurl resolves names in a
/// thread of its own, which ends with the answer.
final class CurlHandle {
    private let functions: UnsafePointer<ccurl_library>
    private let easy: UnsafeMutableRawPointer
    private let multi: UnsafeMutableRawPointer
    private let words = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    /// The connection's descriptor; -1 before there is one.
    private let socket = UnsafeMutablePointer<CInt>.allocate(capacity: 1)
    private let limits: ObjectStoreLimits
    private let certificatesPath: String?

    init(_ limits: ObjectStoreLimits, certificatesPath: String?) throws(ObjectStoreError) {
        let library = try CurlLibrary.loaded.get()
        guard let easy = ccurl_easy_init(library.functions) else {
            throw ObjectStoreError(.noLibrary, "libcurl cannot create a handle")
        }
        guard let multi = ccurl_multi_init(library.functions) else {
            ccurl_easy_cleanup(library.functions, easy)
            throw ObjectStoreError(.noLibrary, "libcurl cannot create a handle")
        }
        functions = library.functions
        socket.initialize(to: -1)
        self.easy = easy
        self.multi = multi
        self.limits = limits
        self.certificatesPath = certificatesPath
        _ = ccurl_multi_set_long(functions, multi, CURLMOPT_MAXCONNECTS, 1)
    }

    deinit {
        ccurl_easy_cleanup(functions, easy)
        ccurl_multi_cleanup(functions, multi)
        words.deallocate()
        socket.deallocate()
    }

    /// Sends a request and waits for its answer, the time-outs, or the stop signal.
    ///
    /// - Parameter body: is sent; nil: there is none, not even an empty one.
    /// - Returns: why there is no whole answer; nil: there is. An answer that was ended by itself says why.
    func perform(
        _ request: HTTPRequest, body: HTTPUpload?, answer: HTTPAnswer, stop: StopSignal
    ) -> TransportFailure? {
        if stop.isStopped { return .stopped(isBegun: false) }
        ccurl_easy_reset(functions, easy)
        var list: UnsafeMutablePointer<curl_slist>?
        for header in request.headers + ["Accept:", "Expect:"] {
            // Without memory libcurl returns nil, and the list stays.
            list = ccurl_append(functions, list, header) ?? list
        }
        defer { ccurl_free_list(functions, list) }
        words[0] = 0
        setOptions(request)
        set(CURLOPT_HTTPHEADER, pointer: list)
        // Both live until the request is taken out again, below.
        set(CURLOPT_HEADERDATA, pointer: Unmanaged.passUnretained(answer).toOpaque())
        set(CURLOPT_WRITEDATA, pointer: Unmanaged.passUnretained(answer).toOpaque())
        if let body { setBody(body) }
        let socket = socket
        answer.headEnded = { Self.acknowledge(socket.pointee) }
        defer { answer.headEnded = nil }
        let result = withExtendedLifetime((answer, body)) { run(stop) }
        guard result != CURLE_OK else { return nil }
        var requestByteCount = 0
        ccurl_get_long(functions, easy, CURLINFO_REQUEST_SIZE, &requestByteCount)
        let isBegun = requestByteCount > 0 || (body?.sentByteCount ?? 0) > 0
        guard let result else { return .stopped(isBegun: isBegun) }
        let reason = reason(result)
        return isBegun ? .cut(reason) : .notConnected(reason)
    }

    /// Runs the request that is set up. nil: the stop signal came.
    private func run(_ stop: StopSignal) -> CURLcode? {
        guard ccurl_multi_add(functions, multi, easy) == CURLM_OK else { return CURLE_FAILED_INIT }
        defer { _ = ccurl_multi_remove(functions, multi, easy) }
        while true {
            var running: CInt = 0
            var code = CURLE_OK
            let state = ccurl_multi_perform(functions, multi, &running)
            if ccurl_multi_result(functions, multi, &code) == 1 { return code }
            guard state == CURLM_OK, running > 0 else { return CURLE_FAILED_INIT }
            if stop.isStopped {
                // Not even for a name that is being resolved.
                set(CURLOPT_QUICK_EXIT, 1)
                return nil
            }
            _ = ccurl_multi_poll(
                functions, multi, stop.descriptor, CInt(stop.pollMilliseconds(1_000)))
        }
    }

    private func setOptions(_ request: HTTPRequest) {
        set(CURLOPT_NOSIGNAL, 1)
        _ = ccurl_watch_sockets(functions, easy, socket)
        set(CURLOPT_ERRORBUFFER, pointer: words)
        set(CURLOPT_URL, text: request.url)
        set(CURLOPT_CUSTOMREQUEST, text: request.method)
        set(CURLOPT_PROTOCOLS_STR, text: "http,https")
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_USERAGENT, text: "blobd")
        set(CURLOPT_HTTP_VERSION, 2)  // CURL_HTTP_VERSION_1_1
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_MAXAGE_CONN, limits.idleSecondsMax)
        set(CURLOPT_BUFFERSIZE, 64 << 10)
        set(CURLOPT_CONNECTTIMEOUT_MS, limits.connectMilliseconds)
        set(CURLOPT_TIMEOUT_MS, request.timeoutMilliseconds)
        set(CURLOPT_LOW_SPEED_LIMIT, 1)
        set(CURLOPT_LOW_SPEED_TIME, max(request.stallMilliseconds / 1_000, 1))
        if let certificatesPath { set(CURLOPT_CAINFO, text: certificatesPath) }
        if request.isDirect { set(CURLOPT_NOPROXY, text: "*") }
        _ = ccurl_set_data_function(functions, easy, CURLOPT_HEADERFUNCTION) {
            bytes, size, count, context in
            CurlHandle.receive(bytes, size * count, context) { $0.receive(line: $1) }
        }
        _ = ccurl_set_data_function(functions, easy, CURLOPT_WRITEFUNCTION) {
            bytes, size, count, context in
            CurlHandle.receive(bytes, size * count, context) { $0.receive(body: $1) }
        }
    }

    /// There is no function to begin the body again: libcurl sends a request once more by itself when a connection that
    /// was kept alive ends without an answer, and a put that was carried out would then meet itself. Without such a
    /// function it fails instead, but for an empty body, which gets a new connection.
    private func setBody(_ body: HTTPUpload) {
        set(CURLOPT_UPLOAD, 1)
        _ = ccurl_set_offset(
            functions, easy, CURLOPT_INFILESIZE_LARGE, curl_off_t(body.byteCount))
        set(CURLOPT_READDATA, pointer: Unmanaged.passUnretained(body).toOpaque())
        if body.byteCount == 0 { set(CURLOPT_FRESH_CONNECT, 1) }
        _ = ccurl_set_data_function(functions, easy, CURLOPT_READFUNCTION) {
            bytes, size, count, context in
            guard let bytes, let context else { return 0 }
            let target = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
            // Alive until the request is taken out.
            return Unmanaged<HTTPUpload>.fromOpaque(context).takeUnretainedValue()
                .read(into: target)
        }
    }

    /// Acknowledges at once what has come. A server that sends head and body by themselves, without TCP_NODELAY, sends the
    /// body only then, and the kernel would wait 40 ms: RGW did, with every GET.
    private static func acknowledge(_ socket: CInt) {
        var one: CInt = 1
        // A hint, for a descriptor that is a connection of libcurl's, or of no harm.
        if socket >= 0 {
            setsockopt(
                socket, CInt(IPPROTO_TCP), TCP_QUICKACK, &one, socklen_t(MemoryLayout<CInt>.size))
        }
    }

    /// Gives libcurl's bytes to the answer. Returns how many were taken: fewer end the request.
    private static func receive(
        _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, _ context: UnsafeMutableRawPointer?,
        _ take: (HTTPAnswer, RawSpan) -> Bool
    ) -> Int {
        guard let context else { return 0 }
        guard let bytes, count > 0 else { return count }
        // The bytes are libcurl's until this returns; the answer lives until the request is taken out.
        let span = RawSpan(_unsafeStart: UnsafeRawPointer(bytes), byteCount: count)
        let answer = Unmanaged<HTTPAnswer>.fromOpaque(context).takeUnretainedValue()
        return take(answer, span) ? count : (count == 0 ? 1 : 0)
    }

    private func reason(_ code: CURLcode) -> String {
        let detail = String(cString: words)
        let general =
            ccurl_words(functions, code).map { String(cString: $0) } ?? "error \(code.rawValue)"
        return ObjectText.line(detail.isEmpty ? general : detail)
    }

    private func set(_ option: CURLoption, _ value: Int) {
        _ = ccurl_set_long(functions, easy, option, value)
    }

    private func set(_ option: CURLoption, text: String) {
        _ = ccurl_set_text(functions, easy, option, text)
    }

    private func set(_ option: CURLoption, pointer: UnsafeMutableRawPointer?) {
        _ = ccurl_set_pointer(functions, easy, option, pointer)
    }
}

struct CurlLibrary: @unchecked Sendable {
    /// Its functions. The table is written once, before anyone has it, and never freed.
    let functions: UnsafePointer<ccurl_library>

    static let name = "libcurl.so.4"

    /// The library, or why there is none. Loaded once; what was missing then is looked for again at the next start.
    static let loaded = load(name)

    static func load(_ name: String) -> Result<CurlLibrary, ObjectStoreError> {
        var words = [CChar](repeating: 0, count: 256)
        if let functions = ccurl_load(name, &words, words.count) {
            return .success(CurlLibrary(functions: functions))
        }
        let why = words.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return .failure(
            ObjectStoreError(
                .noLibrary,
                "\(name) cannot be loaded (\(ObjectText.line(String(decoding: why, as: UTF8.self)))). A bucket needs it: apt-get install libcurl4"
            ))
    }
}

struct HTTPRequest {
    var method: String
    var url: String
    var headers: [String]
    var timeoutMilliseconds: Int
    /// How long nothing may move.
    var stallMilliseconds: Int
    /// Whether it goes past any proxy.
    var isDirect = false
}

enum TransportFailure: Error, Equatable {
    /// The server has got nothing of the request.
    case notConnected(String)
    /// The server may have got all of it.
    case cut(String)
    /// The stop signal came; `isBegun`: after the server may have got all of it.
    case stopped(isBegun: Bool)
}

/// The bytes of a body on their way. They are valid during one request.
final class HTTPUpload {
    private let bytes: UnsafeRawBufferPointer
    private(set) var sentByteCount = 0
    private let onMoved: ((Int) -> Void)?

    init(_ bytes: UnsafeRawBufferPointer, onMoved: ((Int) -> Void)? = nil) {
        self.bytes = bytes
        self.onMoved = onMoved
    }

    var byteCount: Int { bytes.count }

    /// Copies what comes next. Returns how many bytes, 0 at the end.
    func read(into target: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(target.count, bytes.count - sentByteCount)
        guard count > 0 else { return 0 }
        let piece = UnsafeRawBufferPointer(
            rebasing: bytes[sentByteCount..<sentByteCount + count])
        target.copyMemory(from: piece)
        sentByteCount += count
        onMoved?(count)
        return count
    }
}
