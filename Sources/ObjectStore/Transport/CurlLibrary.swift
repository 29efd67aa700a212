import CCurl

/// libcurl, loaded with the first client of the process.
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
