import Bytes

/// The types of images, sounds and films that can be told by their first bytes.
enum FileSignature {
    /// How many bytes are looked at.
    static let byteCount = 12

    /// Nil if it is another type, or cannot be told.
    static func mediaType(of start: RawSpan) -> String? {
        func has(_ bytes: [UInt8], at offset: Int = 0) -> Bool {
            guard start.byteCount >= offset + bytes.count else { return false }
            return bytes.indices.allSatisfy { start.byte(offset + $0) == bytes[$0] }
        }
        func has(_ text: String, at offset: Int = 0) -> Bool { has(Array(text.utf8), at: offset) }
        if has([0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
        if has([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return "image/png" }
        if has("GIF87a") || has("GIF89a") { return "image/gif" }
        if has("RIFF"), has("WEBP", at: 8) { return "image/webp" }
        if has("RIFF"), has("WAVE", at: 8) { return "audio/wav" }
        guard has("ftyp", at: 4) else { return nil }
        // The container of MP4 (ISO 14496-12), in which the brand tells what it is.
        return brands.first { has($0.brand, at: 8) }?.mediaType
    }

    private static let brands = [
        ("avif", "image/avif"), ("avis", "image/avif"), ("hei", "image/heic"),
        ("hev", "image/heic"), ("qt  ", "video/quicktime"), ("M4A", "audio/mp4"),
        ("3gp", "video/3gpp"), ("3g2", "video/3gpp2"), ("M4V", "video/mp4"), ("mp4", "video/mp4"),
        ("iso", "video/mp4"), ("avc", "video/mp4"), ("dash", "video/mp4"), ("MSNV", "video/mp4"),
    ].map { (brand: $0.0, mediaType: $0.1) }

    /// Types whose files may begin alike.
    private static let families: [Set<String>] = [
        ["image/png", "image/apng"],
        ["video/mp4", "audio/mp4", "video/quicktime", "video/3gpp", "video/3gpp2"],
    ]

    /// Whether a file of a type may begin so.
    static func agrees(_ mediaType: String, with found: String) -> Bool {
        mediaType == found
            || families.contains { $0.contains(mediaType) && $0.contains(found) }
    }
}
