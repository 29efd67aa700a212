package com.example.richpush

import org.json.JSONException
import org.json.JSONObject
import java.io.IOException

/** Your backend, with the calls of Examples/python/backend.py. Every call blocks its thread and throws [IOException]. */
class Backend(private val site: String) {
    /** Signs in. Returns the session, with which the device registers until it signs out. */
    fun signIn(user: String, password: String): String =
        call("POST", "sign-in", null, JSONObject().put("user", user).put("password", password), "session")

    /** Says where the device can be reached, if it has a push token. Returns a new token for [DeviceClient]. */
    fun register(session: String, pushToken: String?): String {
        val device = JSONObject()
        if (pushToken != null) device.put("platform", "fcm").put("token", pushToken)
        return call("PUT", "devices", session, device, "token")
    }

    /** No more pushes for this device, and no new tokens. */
    fun signOut(session: String) {
        HttpsJson.call("DELETE", "$site/devices", session, null)
    }

    private fun call(method: String, path: String, session: String?, body: JSONObject, answer: String): String =
        try {
            HttpsJson.call(method, "$site/$path", session, body).getString(answer)
        } catch (error: JSONException) {
            throw IOException("the backend sent another document", error)
        }
}
