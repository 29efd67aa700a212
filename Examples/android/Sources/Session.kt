package com.example.richpush

import android.content.Context
import androidx.work.Constraints
import androidx.work.ExistingPeriodicWorkPolicy
import androidx.work.ListenableWorker
import androidx.work.NetworkType
import androidx.work.PeriodicWorkRequest
import androidx.work.WorkManager
import androidx.work.Worker
import androidx.work.WorkerParameters
import java.io.IOException
import java.util.concurrent.TimeUnit

/**
 * The site, the session at your backend, the token for blobd, and Firebase's token. Keep them encrypted in a real app.
 * Functions that call the backend or blobd block their thread and throw [IOException].
 */
class Session(private val context: Context) {
    private val preferences = context.getSharedPreferences("richpush", Context.MODE_PRIVATE)

    fun signIn(site: String, user: String, password: String) {
        val session = Backend(site).signIn(user, password)
        preferences.edit().putString("site", site).putString("session", session).apply()
        RegistrationWorker.enqueue(context)
    }

    fun signOut() {
        Backend(stored("site")).signOut(stored("session"))
        preferences.edit().remove("session").remove("token").apply()
    }

    /** Firebase has a token for this device, perhaps before a user has signed in. */
    fun setPushToken(token: String) {
        preferences.edit().putString("pushToken", token).apply()
        if (preferences.getString("session", null) != null) RegistrationWorker.enqueue(context)
    }

    /** Tells your backend where this device can be reached, and stores a new token for blobd. */
    fun register() {
        val token = Backend(stored("site")).register(stored("session"), preferences.getString("pushToken", null))
        preferences.edit().putString("token", token).apply()
    }

    /** Calls blobd. A token that has expired is renewed first. */
    fun <Answer> call(body: (DeviceClient) -> Answer): Answer {
        if (preferences.getString("token", null) == null) register()
        return try {
            body(DeviceClient(stored("site"), stored("token")))
        } catch (failure: Failure) {
            if (failure.status != 401) throw failure
            register()
            body(DeviceClient(stored("site"), stored("token")))
        }
    }

    private fun stored(name: String): String =
        preferences.getString(name, null) ?: throw Failure(401, null, "nobody is signed in")
}

/** Registers the device at once and then daily, so that its token for blobd does not expire. */
class RegistrationWorker(context: Context, parameters: WorkerParameters) : Worker(context, parameters) {
    override fun doWork(): Result = resultOf { Session(applicationContext).register() }

    companion object {
        fun enqueue(context: Context) {
            val work = PeriodicWorkRequest.Builder(RegistrationWorker::class.java, 1, TimeUnit.DAYS)
                .setConstraints(whenConnected)
                .build()
            WorkManager.getInstance(context).enqueueUniquePeriodicWork(
                "register", ExistingPeriodicWorkPolicy.CANCEL_AND_REENQUEUE, work)
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
        if (error.isTemporary) ListenableWorker.Result.retry() else ListenableWorker.Result.failure()
    }
