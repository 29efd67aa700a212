enum MediaTypes {
    private static let byEnding: [String: String] = [
        "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif",
        "webp": "image/webp", "avif": "image/avif", "heic": "image/heic", "svg": "image/svg+xml",
        "ico": "image/x-icon", "bmp": "image/bmp", "tif": "image/tiff", "tiff": "image/tiff",
        "mp3": "audio/mpeg", "m4a": "audio/mp4", "aac": "audio/aac", "ogg": "audio/ogg",
        "oga": "audio/ogg", "opus": "audio/ogg", "wav": "audio/wav", "flac": "audio/flac",
        "aif": "audio/aiff", "aiff": "audio/aiff", "caf": "audio/x-caf",
        "mp4": "video/mp4", "m4v": "video/mp4", "mov": "video/quicktime", "webm": "video/webm",
        "mpg": "video/mpeg", "mpeg": "video/mpeg", "avi": "video/x-msvideo",
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

    /// Whether bytes of this type may be written to a terminal.
    static func isText(_ mediaType: String) -> Bool {
        let essence = mediaType.split(separator: ";").first?.lowercased() ?? ""
        return essence.hasPrefix("text/") || essence.hasSuffix("/json")
            || essence.hasSuffix("+json")
            || essence.hasSuffix("/xml") || essence.hasSuffix("+xml")
    }
}
