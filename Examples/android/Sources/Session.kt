package com.example.richpush

import android.content.Context
import androidx.work.Constraints
import androidx.work.Data
import androidx.work.ExistingWorkPolicy
import androidx.work.ListenableWorker
import androidx.work.NetworkType
import androidx.work.OneTimeWorkRequest
import androidx.work.WorkManager
import androidx.work.Worker
import androidx.work.WorkerParameters
import java.io.IOException
import org.json.JSONObject

/**
 * What the app stores after its user has signed in: the `site` of the device socket, the `token` that your backend made
 * with the scope `write`, the `backend`, and the `owner`, its user. Keep the token encrypted in a real app.
 */
class Session(context: Context) {
    private val preferences = context.getSharedPreferences("richpush", Context.MODE_PRIVATE)

    /** Null: nobody is signed in. */
    val client: DeviceClient?
        get() {
            val site = preferences.getString("site", null) ?: return null
            val token = preferences.getString("token", null) ?: return null
            return DeviceClient(site, token)
        }

    /** Tells your backend where this device can be reached: `PUT /devices` of Examples/python/backend.py. */
    fun register(pushToken: String) {
        val backend = preferences.getString("backend", null) ?: return
        val owner = preferences.getString("owner", null) ?: return
        val device = JSONObject().put("owner", owner).put("platform", "fcm").put("token", pushToken)
        HttpsJson.call("PUT", "$backend/devices", emptyMap(), device)
    }
}

/** Registers the device, when there is a network and until the backend has answered. */
class RegistrationWorker(context: Context, parameters: WorkerParameters) : Worker(context, parameters) {
    override fun doWork(): Result {
        val pushToken = inputData.getString(PUSH_TOKEN) ?: return Result.failure()
        return resultOf { Session(applicationContext).register(pushToken) }
    }

    companion object {
        private const val PUSH_TOKEN = "pushToken"

        /** Call this at each sign-in, too, with the token of FirebaseMessaging. */
        fun enqueue(context: Context, pushToken: String) {
            val work = OneTimeWorkRequest.Builder(RegistrationWorker::class.java)
                .setInputData(Data.Builder().putString(PUSH_TOKEN, pushToken).build())
                .setConstraints(whenConnected)
                .build()
            WorkManager.getInstance(context).enqueueUniqueWork("register", ExistingWorkPolicy.REPLACE, work)
        }
    }
}

internal val whenConnected: Constraints
    get() = Constraints.Builder().setRequiredNetworkType(NetworkType.CONNECTED).build()

/** The result of work that makes a call. WorkManager repeats the work, with growing pauses, if the failure may pass. */
internal fun resultOf(call: () -> Unit): ListenableWorker.Result =
    try {
        call()
        ListenableWorker.Result.success()
    } catch (error: IOException) {
        val isFinal = error is Failure && !error.isTemporary
        if (isFinal) ListenableWorker.Result.failure() else ListenableWorker.Result.retry()
    }
