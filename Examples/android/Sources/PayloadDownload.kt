package com.example.richpush

import java.io.File
import java.io.FileOutputStream
import java.io.IOException
import java.util.UUID
import java.util.concurrent.CompletableFuture
import java.util.concurrent.ExecutionException
import java.util.concurrent.TimeUnit
import java.util.concurrent.TimeoutException
import kotlin.concurrent.thread

/** A payload in a file, whose extension suits the media type. The caller moves or deletes it. */
class DownloadedPayload(val file: File, val mediaType: String, val byteCount: Long)

/** Why a payload could not be downloaded. */
sealed class DownloadException(message: String, cause: Throwable? = null) : Exception(message, cause) {
    /** The link, or a redirect, is not https. */
    class Insecure : DownloadException("the link is not https")
    /** The server's status: 403 for a link that has expired, 404 and 410 for a notification that has. */
    class Refused(val status: Int) : DownloadException("the server answered $status")
    class TooLarge(limit: Long) : DownloadException("the payload has more than $limit bytes")
    /** The bytes differ from those that were published, or the server does not say which those were. */
    class WrongDigest : DownloadException("the digest is wrong or missing")
    class TimedOut : DownloadException("the time is over")
    /** The connection broke. */
    class Broken(message: String, cause: Throwable? = null) : DownloadException(message, cause)

    /** Whether another attempt may help. */
    val isTemporary: Boolean
        get() = this is Broken || this is Refused && (status == 429 || status >= 500)
}

/**
 * Downloads one payload to a file, within a size and a time. It contains no Android class, so that it is tested on any
 * machine with a JVM.
 */
class PayloadDownload(
    /** The largest payload, in bytes: that of blobd's profile `android`. */
    private val byteCountMax: Long = 1_000_000,
    /** How long all attempts together may take. */
    private val millisMax: Long = 25_000,
    /** How often the download is started or continued. */
    private val attemptsMax: Int = 4,
    /** The pause after the first failed attempt. It doubles. */
    private val pauseMillis: Long = 500
) {
    private val result = CompletableFuture<Transfer.Content>()

    /**
     * Downloads what a link names into a folder. After a broken connection it requests only the missing bytes. It
     * blocks its thread, and works once: create a new [PayloadDownload] for the next link.
     *
     * @throws DownloadException if there is no payload, CancellationException after [cancel], and IOException if the
     * folder is not writable. No file is left then.
     */
    fun run(link: String, folder: File): DownloadedPayload {
        val name = UUID.randomUUID().toString()
        val part = File(folder, "$name.part")
        try {
            val content = download(link, FileOutputStream(part))
            val file = File(folder, "$name.${MediaTypes.fileExtension(content.mediaType)}")
            if (!part.renameTo(file)) throw IOException("$part cannot be renamed")
            return DownloadedPayload(file, content.mediaType, content.byteCount)
        } finally {
            part.delete()
        }
    }

    /** Ends [run] at once, from any thread. */
    fun cancel() {
        result.cancel(false)
    }

    private fun download(link: String, file: FileOutputStream): Transfer.Content {
        // A blocked read cannot be ended reliably, so another thread reads. Once nobody waits for its result, it ends
        // at the next bytes or at its read timeout.
        thread(name = "payload-download", isDaemon = true) {
            try {
                result.complete(file.use { attempts(Transfer(link, it, byteCountMax, isWanted = { !result.isDone })) })
            } catch (error: Throwable) {
                result.completeExceptionally(error)
            }
        }
        try {
            return result.get(millisMax, TimeUnit.MILLISECONDS)
        } catch (error: TimeoutException) {
            throw DownloadException.TimedOut()
        } catch (error: ExecutionException) {
            throw error.cause ?: error
        } finally {
            cancel()
        }
    }

    private fun attempts(transfer: Transfer): Transfer.Content {
        var pause = pauseMillis
        for (number in 1 until attemptsMax) {
            try {
                return transfer.attempt()
            } catch (error: DownloadException) {
                if (!error.isTemporary) throw error
            }
            Thread.sleep(pause)
            pause *= 2
        }
        return transfer.attempt()
    }
}
