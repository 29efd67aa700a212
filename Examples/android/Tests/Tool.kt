// The receiver's code without Android on a terminal, with the same commands and output as Examples/ios's rich-push:
//
//     download LINK FOLDER [BYTES_MAX [SECONDS]]
//     cancel MILLISECONDS LINK FOLDER
//     show|read|changes|respond SITE TOKEN ID|CURSOR [ACTION [KEY]]
//     sign-in SITE USER PASSWORD
//     register SITE SESSION [PUSH_TOKEN]
//     push JSON               what the app does with an FCM message's data; the stubs of Android print it
//     sample WIDTH HEIGHT
package com.example.richpush

import com.google.firebase.messaging.RemoteMessage
import java.io.File
import java.io.IOException
import java.net.HttpURLConnection
import java.security.KeyStore
import java.security.cert.CertificateFactory
import java.util.UUID
import java.util.concurrent.CancellationException
import javax.net.ssl.HttpsURLConnection
import javax.net.ssl.SSLContext
import javax.net.ssl.TrustManagerFactory
import kotlin.concurrent.thread
import kotlin.system.exitProcess
import org.json.JSONObject

fun main(words: Array<String>) {
    System.getenv("CERTIFICATE_FILE")?.let { trust(File(it)) }
    try {
        when (words[0]) {
            "download" -> download(PayloadDownload(
                words.getOrNull(3)?.toLong() ?: 1_000_000,
                words.getOrNull(4)?.let { (it.toDouble() * 1_000).toLong() } ?: 25_000,
                pauseMillis = 50), words[1], words[2])
            "cancel" -> {
                val download = PayloadDownload()
                thread {
                    Thread.sleep(words[1].toLong())
                    download.cancel()
                }
                download(download, words[2], words[3])
            }
            "sign-in" -> println(Backend(words[1]).signIn(words[2], words[3]))
            "register" -> println(Backend(words[1]).register(words[2], words.getOrNull(3)))
            "push" -> {
                val data = JSONObject(words[1])
                PushService().onMessageReceived(RemoteMessage(data.keys().asSequence().associate { it to data.getString(it) }))
            }
            "sample" -> println(sampleSize(words[1].toInt(), words[2].toInt()))
            else -> call(DeviceClient(words[1], words[2]), words)
        }
    } catch (error: Exception) {
        // What WorkManager does with the work.
        val again = if (error is IOException && error.isTemporary) ", again later" else ""
        println("failed: ${name(error)}$again")
        exitProcess(1)
    }
}

private fun download(download: PayloadDownload, link: String, folder: String) {
    val payload = download.run(link, File(folder))
    println("${payload.file.name} ${payload.mediaType} ${payload.byteCount}")
}

private fun call(client: DeviceClient, words: Array<String>) {
    when (words[0]) {
        "show" -> {
            val notification = client.notification(words[3])
            val actions = client.buttons(notification).joinToString(",") { it.identifier }
            println("${notification.message} ${notification.isRead} ${notification.actionState} $actions")
        }
        "read" -> {
            allowPatch()
            client.markAsRead(words[3])
        }
        "changes" -> {
            val page = client.changes(words[3])
            page.changes.forEach { println("${it.kind} ${it.id}") }
            println("next ${page.next}")
        }
        "respond" -> client.respond(words[3], words[4], words.getOrNull(5) ?: UUID.randomUUID().toString())
        else -> throw IllegalArgumentException("see the first lines of Tool.kt")
    }
}

private fun name(error: Exception): String =
    when (error) {
        is DownloadException.Insecure -> "insecure"
        is DownloadException.Refused -> "refused(status: ${error.status})"
        is DownloadException.TooLarge -> "tooLarge"
        is DownloadException.WrongDigest -> "wrongDigest"
        is DownloadException.TimedOut -> "timedOut"
        is DownloadException.Broken -> "broken(${error.message})"
        is CancellationException -> "cancelled"
        else -> error.toString()
    }

/** Trusts the certificate of the test's server. */
private fun trust(certificate: File) {
    val store = KeyStore.getInstance(KeyStore.getDefaultType())
    store.load(null, null)
    val certificates = CertificateFactory.getInstance("X.509")
    store.setCertificateEntry("test", certificate.inputStream().use { certificates.generateCertificate(it) })
    val factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm()).apply { init(store) }
    val context = SSLContext.getInstance("TLS").apply { init(null, factory.trustManagers, null) }
    HttpsURLConnection.setDefaultSSLSocketFactory(context.socketFactory)
}

/** Java's HttpURLConnection refuses the method PATCH, which Android's accepts. Needs --add-opens java.base/java.net. */
private fun allowPatch() {
    val field = HttpURLConnection::class.java.getDeclaredField("methods")
    field.isAccessible = true
    @Suppress("UNCHECKED_CAST")
    val methods = field.get(null) as Array<String>
    methods[methods.indexOf("TRACE")] = "PATCH"
}
