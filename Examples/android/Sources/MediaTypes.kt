package com.example.richpush

internal object MediaTypes {
    private val extensions = mapOf(
        "image/jpeg" to "jpg", "image/png" to "png", "image/gif" to "gif", "image/webp" to "webp",
        "image/heic" to "heic", "image/avif" to "avif", "audio/mpeg" to "mp3", "audio/mp4" to "m4a",
        "audio/wav" to "wav", "audio/x-wav" to "wav", "audio/ogg" to "ogg", "video/mp4" to "mp4",
        "video/webm" to "webm")

    /** The file name extension for a media type, whose parameters are ignored; `bin` for an unknown one. */
    fun fileExtension(mediaType: String): String {
        val name = mediaType.substringBefore(';').trim()
        return extensions.entries.firstOrNull { it.key.equals(name, ignoreCase = true) }?.value ?: "bin"
    }
}

/**
 * How a picture is reduced when it is decoded, so that neither side is over [most] pixels: 1 MB of JPEG may have 50 MB of
 * them. A power of two, since Android rounds others down.
 */
internal fun sampleSize(width: Int, height: Int, most: Int = 1_024): Int {
    var size = 1
    while (maxOf(width, height) / size > most) size *= 2
    return size
}
