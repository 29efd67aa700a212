/// File name extensions, by which iOS tells what an attachment is.
enum MediaTypes {
    private static let extensions = [
        "image/jpeg": "jpg", "image/png": "png", "image/gif": "gif", "image/heic": "heic",
        "image/webp": "webp", "audio/mpeg": "mp3", "audio/mp4": "m4a", "audio/wav": "wav",
        "audio/x-wav": "wav", "audio/aiff": "aiff", "video/mp4": "mp4", "video/mpeg": "mpg",
        "video/quicktime": "mov",
    ]

    /// The extension for a media type, whose parameters are ignored; `bin` for one that is not known.
    static func fileExtension(of mediaType: String) -> String {
        let name = mediaType.prefix { $0 != ";" }.filter { $0 != " " }.lowercased()
        return extensions[name] ?? "bin"
    }
}
