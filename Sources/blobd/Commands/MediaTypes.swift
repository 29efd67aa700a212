enum MediaTypes {
    private static let byEnding: [String: String] = [
        "jpg": "image/jpeg", "jpeg": "image/jpeg", "jfif": "image/jpeg", "png": "image/png",
        "apng": "image/apng", "gif": "image/gif",
        "webp": "image/webp", "avif": "image/avif", "heic": "image/heic", "svg": "image/svg+xml",
        "ico": "image/x-icon", "bmp": "image/bmp", "tif": "image/tiff", "tiff": "image/tiff",
        "mp3": "audio/mpeg", "m4a": "audio/mp4", "aac": "audio/aac", "ogg": "audio/ogg",
        "oga": "audio/ogg", "opus": "audio/ogg", "wav": "audio/wav", "flac": "audio/flac",
        "aif": "audio/aiff", "aiff": "audio/aiff", "caf": "audio/x-caf",
        "mp4": "video/mp4", "m4v": "video/mp4", "mov": "video/quicktime", "webm": "video/webm",
        "3gp": "video/3gpp", "3g2": "video/3gpp2", "mpg": "video/mpeg", "mpeg": "video/mpeg",
        "avi": "video/x-msvideo",
        "json": "application/json", "xml": "application/xml", "pdf": "application/pdf",
        "zip": "application/zip", "gz": "application/gzip", "wasm": "application/wasm",
        "txt": "text/plain; charset=utf-8", "md": "text/markdown; charset=utf-8",
        "html": "text/html; charset=utf-8", "htm": "text/html; charset=utf-8",
        "css": "text/css; charset=utf-8", "csv": "text/csv; charset=utf-8",
        "js": "text/javascript; charset=utf-8", "ics": "text/calendar; charset=utf-8",
        "usdz": "model/vnd.usdz+zip", "vcf": "text/vcard; charset=utf-8",
    ]

    static func suggested(by fileName: String) -> String? {
        let name = fileName.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: ".") else { return nil }
        return byEnding[name[name.index(after: dot)...].lowercased()]
    }

    /// What a user should know of the type that a file is stored with, because it is not the one of its bytes, or none;
    /// nil: nothing. It is stored all the same: who serves it may have no use for the type.
    ///
    /// - Parameters:
    ///   - fileName: nil for standard input, which has no type unless it is given.
    ///   - start: its first bytes, at least ``FileSignature/byteCount`` if it has so many.
    ///   - option: how a type is given.
    static func note(
        _ fileName: String?, start: RawSpan, option: (_ mediaType: String) -> String
    ) -> String? {
        let name = fileName.map { HumanText.line($0, characterCountMax: 200) } ?? "standard input"
        let found = FileSignature.mediaType(of: start)
        guard let named = fileName.flatMap(suggested) else {
            let stored = "\(name) is stored as application/octet-stream"
            if let found { return "\(stored), but begins like \(found): give \(option(found))" }
            guard fileName != nil else { return nil }
            return "\(stored), since its name does not tell its type: give \(option("TYPE"))"
        }
        guard let found, !FileSignature.agrees(named, with: found) else { return nil }
        return "\(name) is stored as \(named), but begins like \(found): give \(option(found))"
    }

    /// Whether bytes of this type may be written to a terminal.
    static func isText(_ mediaType: String) -> Bool {
        let essence = mediaType.split(separator: ";").first?.lowercased() ?? ""
        return essence.hasPrefix("text/") || essence.hasSuffix("/json")
            || essence.hasSuffix("+json")
            || essence.hasSuffix("/xml") || essence.hasSuffix("+xml")
    }
}
