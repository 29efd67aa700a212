package com.example.richpush

import java.io.FileOutputStream
import java.io.IOException
import java.io.InputStream
import java.net.MalformedURLException
import java.net.URL
import java.security.MessageDigest
import java.util.concurrent.CancellationException
import javax.net.ssl.HttpsURLConnection

/**
 * The attempts to download one payload. Bytes go to the file and the digest as they arrive.
 *
 * @param isWanted whether anyone still waits for the payload.
 */
internal class Transfer(
    private val link: String,
    private val file: FileOutputStream,
    private val byteCountMax: Long,
    private val isWanted: () -> Boolean
) {
    class Content(val mediaType: String, val byteCount: Long)

    private val hash = MessageDigest.getInstance("SHA-256")
    /** Bytes in the file. */
    private var byteCount = 0L
    private var mediaType = ""
    private var entityTag: String? = null
    /** Bytes of the whole payload; null: unknown. */
    private var totalByteCount: Long? = null

    /** Downloads the payload, or what is missing of it. */
    fun attempt(): Content {
        checkWanted()
        try {
            val connection = open()
            try {
                begin(connection)
                copy(connection.inputStream)
            } finally {
                connection.disconnect()
            }
        } catch (error: MalformedURLException) {
            throw DownloadException.Insecure()
        } catch (error: IOException) {
            throw DownloadException.Broken(error.toString(), error)
        }
        return finish()
    }

    /** Sends the request. It follows redirects itself, since HttpsURLConnection hides where they lead. */
    private fun open(): HttpsURLConnection {
        var url = URL(link)
        var status = 0
        repeat(6) {
            val connection = url.openConnection() as? HttpsURLConnection ?: throw DownloadException.Insecure()
            configure(connection)
            status = connection.responseCode
            val location = connection.getHeaderField("Location")
            if (status !in listOf(301, 302, 303, 307, 308) || location == null) return connection
            connection.disconnect()
            url = URL(url, location)
        }
        throw DownloadException.Refused(status)
    }

    private fun configure(connection: HttpsURLConnection) {
        connection.connectTimeout = 10_000
        connection.readTimeout = 10_000
        connection.instanceFollowRedirects = false
        connection.useCaches = false
        // Android would request gzip and hide it, but the digest, lengths and ranges are those of the bytes as sent.
        connection.setRequestProperty("Accept-Encoding", "identity")
        val tag = entityTag
        if (byteCount > 0 && tag != null) {
            connection.setRequestProperty("Range", "bytes=$byteCount-")
            // If the link names other bytes by now, the server sends those from their start.
            connection.setRequestProperty("If-Range", tag)
        }
    }

    /** Reads the head of a response. */
    private fun begin(connection: HttpsURLConnection) {
        val status = connection.responseCode
        when (status) {
            200 -> {
                restart()
                totalByteCount = connection.getHeaderField("Content-Length")?.toLongOrNull()
            }
            206 -> {
                val field = connection.getHeaderField("Content-Range") ?: ""
                val range = Regex("""bytes (\d+)-\d+/(\d+)""").matchEntire(field)
                if (range == null || range.groupValues[1].toLongOrNull() != byteCount) {
                    throw DownloadException.Broken("the server sent another range")
                }
                totalByteCount = range.groupValues[2].toLongOrNull()
            }
            416 -> {
                // The connection broke after the last byte, or a shorter payload has replaced this one.
                restart()
                throw DownloadException.Broken("the server does not have the rest")
            }
            else -> throw DownloadException.Refused(status)
        }
        if ((totalByteCount ?: 0L) > byteCountMax) throw DownloadException.TooLarge(byteCountMax)
        entityTag = connection.getHeaderField("ETag")
        mediaType = connection.contentType ?: "application/octet-stream"
    }

    private fun restart() {
        file.channel.truncate(0)
        hash.reset()
        byteCount = 0
        entityTag = null
    }

    private fun copy(input: InputStream) {
        val buffer = ByteArray(16 * 1024)
        while (true) {
            val count = input.read(buffer)
            checkWanted()
            if (count < 0) return
            if (count > byteCountMax - byteCount) throw DownloadException.TooLarge(byteCountMax)
            file.write(buffer, 0, count)
            hash.update(buffer, 0, count)
            byteCount += count
        }
    }

    private fun checkWanted() {
        if (!isWanted()) throw CancellationException()
    }

    private fun finish(): Content {
        val total = totalByteCount
        if (total != null && byteCount < total) throw DownloadException.Broken("$byteCount of $total bytes arrived")
        val digest = hash.digest().joinToString("") { "%02x".format(it) }
        // Strong or weak, of the bytes as published or of their gzip form.
        if (!Regex("""(W/)?"sha256:$digest(-gzip)?"""").matches(entityTag ?: "")) throw DownloadException.WrongDigest()
        return Content(mediaType, byteCount)
    }
}
