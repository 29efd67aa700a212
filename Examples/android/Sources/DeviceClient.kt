package com.example.richpush

import java.io.IOException
import java.net.MalformedURLException
import java.net.URL
import java.net.URLEncoder
import java.util.UUID
import javax.net.ssl.HttpsURLConnection
import org.json.JSONException
import org.json.JSONObject

/**
 * What a device asks blobd on behalf of its user, with a token that the backend made (`blobd token`). Every call blocks
 * its thread and throws [IOException]; a [Failure] is an answer of the server.
 *
 * @param site the site of the device socket, such as `https://push.example.com`.
 */
class DeviceClient(private val site: String, private val token: String) {
    /** A button. It opens the app if the publisher wants that, or wants the device unlocked: only an activity does. */
    class Action(json: JSONObject) {
        val identifier: String = json.getString("identifier")
        val title: String = json.getString("title")
        val opensApp: Boolean = json.optBoolean("foreground") || json.optBoolean("authentication_required")
    }

    /** The members of a notification that a device shows. */
    class Notification(json: JSONObject) {
        val id: String = json.getString("id")
        val title: String? = json.text("title")
        val message: String? = json.text("message")
        /** Its own buttons; null: those of its category. [buttons] has either. */
        val actions: List<Action>? = if (json.isNull("actions")) null else json.actions()
        val category: String? = json.text("category")
        val isRead: Boolean = json.getBoolean("read")
        val actionState: String = json.getString("action_state")
    }

    /** A change of one of the user's notifications. */
    class Change(json: JSONObject) {
        /** `published`, `updated`, `deleted`, `expired`, `left` or `category`. */
        val kind: String = json.getString("kind")
        val id: String? = json.text("id")
        val notification: Notification? = json.optJSONObject("notification")?.let { Notification(it) }
    }

    /** Changes, and the cursor for the next call. */
    class Changes(json: JSONObject) {
        val changes: List<Change> = json.objects("changes").map { Change(it) }
        val next: String = json.getString("next")
        val hasMore: Boolean = json.getBoolean("more")
    }

    fun notification(id: String): Notification = read { Notification(call("GET", "notifications/${encoded(id)}")) }

    /** The buttons of a notification: its own, or else those of its category. Empty if the category was deleted. */
    fun buttons(notification: Notification): List<Action> {
        if (notification.actions != null) return notification.actions
        if (notification.category == null) return emptyList()
        return try {
            read { call("GET", "notifications/${encoded(notification.id)}/category").actions() }
        } catch (failure: Failure) {
            if (failure.status == 404) emptyList() else throw failure
        }
    }

    /**
     * The changes after a cursor; `0` stands for all notifications, `latest` for new changes only. Without a change,
     * the call waits for one for [waitSeconds]. Store `next` after you have applied the changes.
     */
    fun changes(since: String, waitSeconds: Int = 0): Changes =
        read { Changes(call("GET", "changes?since=${encoded(since)}&wait=$waitSeconds", waitSeconds = waitSeconds)) }

    /**
     * Records what the user did: `default` for a tap on the notification, `dismiss`, or an action's identifier. Sent
     * again with the same key, the response is recorded once.
     */
    fun respond(id: String, action: String, key: String = UUID.randomUUID().toString()) {
        val body = JSONObject().put("action", action).put("key", key)
        call("POST", "notifications/${encoded(id)}/responses", body)
    }

    fun markAsRead(id: String) {
        call("PATCH", "notifications/${encoded(id)}", JSONObject().put("read", true))
    }

    private fun call(method: String, path: String, body: JSONObject? = null, waitSeconds: Int = 0): JSONObject =
        HttpsJson.call(method, "$site/d/me/$path", token, body, waitSeconds)

    private fun encoded(text: String) = URLEncoder.encode(text, "UTF-8").replace("+", "%20")

    private fun <Document> read(body: () -> Document): Document =
        try {
            body()
        } catch (error: JSONException) {
            throw IOException("the server sent another document", error)
        }
}

/** An answer other than 2xx. Programs check [code], the `code` of blobd's problem document. */
class Failure(val status: Int, val code: String?, detail: String?) : IOException("$status $code $detail")

/** An address that no attempt will reach. */
class NotHttps(address: String) : IOException("$address is not https")

/** Whether the same call may succeed later: there is no network, or the server is busy. */
val IOException.isTemporary: Boolean
    get() = when (this) {
        is Failure -> status == 408 || status == 429 || status >= 500
        is NotHttps -> false
        else -> true
    }

/** One call over HTTPS with JSON in both directions. */
internal object HttpsJson {
    fun call(
        method: String, url: String, bearer: String?, body: JSONObject?, waitSeconds: Int = 0
    ): JSONObject {
        val connection = try {
            URL(url).openConnection() as? HttpsURLConnection ?: throw NotHttps(url)
        } catch (error: MalformedURLException) {
            throw NotHttps(url)
        }
        try {
            connection.requestMethod = method
            connection.connectTimeout = 10_000
            connection.readTimeout = 10_000 + waitSeconds * 1_000
            // A redirect would carry the token to another host.
            connection.instanceFollowRedirects = false
            if (bearer != null) connection.setRequestProperty("Authorization", "Bearer $bearer")
            if (body != null) {
                connection.doOutput = true
                connection.setRequestProperty("Content-Type", "application/json")
                connection.outputStream.use { it.write(body.toString().toByteArray()) }
            }
            val status = connection.responseCode
            val isOk = status in 200..299
            val text = (if (isOk) connection.inputStream else connection.errorStream)?.use { it.readBytes() }
            val json = try {
                JSONObject(String(text ?: ByteArray(0)))
            } catch (error: JSONException) {
                JSONObject()
            }
            if (!isOk) throw Failure(status, json.text("code"), json.text("detail") ?: json.text("error"))
            return json
        } finally {
            connection.disconnect()
        }
    }
}

private fun JSONObject.text(name: String): String? = if (isNull(name)) null else getString(name)

private fun JSONObject.objects(name: String): List<JSONObject> =
    optJSONArray(name)?.let { array -> (0 until array.length()).map { array.getJSONObject(it) } } ?: emptyList()

private fun JSONObject.actions(): List<DeviceClient.Action> = objects("actions").map { DeviceClient.Action(it) }
