package com.example.richpush

import android.app.Activity
import android.app.NotificationManager
import android.content.BroadcastReceiver
import android.content.Context
import android.content.Intent
import android.os.Bundle
import androidx.work.Data
import androidx.work.ExistingWorkPolicy
import androidx.work.OneTimeWorkRequest
import androidx.work.WorkManager
import androidx.work.Worker
import androidx.work.WorkerParameters
import java.util.UUID

/**
 * Receives what the user does with a notification: a button or a dismissal. Like [ResponseActivity] it is not exported, so
 * that no other app can answer in the user's name.
 */
class ResponseReceiver : BroadcastReceiver() {
    override fun onReceive(context: Context, intent: Intent) {
        record(context, intent)
    }

    companion object {
        private const val ACTION = "richAction"
        private const val KEY = "richKey"

        /** Adds a response to an intent. Each gets its own key, with which blobd records it once. */
        internal fun describe(intent: Intent, id: String, action: String): Intent = intent
            // The system takes intents that differ only in their extras for the same one.
            .setIdentifier("$id/$action")
            .putExtra(PushWorker.ID, id)
            .putExtra(ACTION, action)
            .putExtra(KEY, UUID.randomUUID().toString())

        /** Records the response in an intent. A repeated call is harmless. */
        internal fun record(context: Context, intent: Intent) {
            val id = intent.getStringExtra(PushWorker.ID) ?: return
            val action = intent.getStringExtra(ACTION) ?: return
            val key = intent.getStringExtra(KEY) ?: return
            // A button does not remove the notification.
            context.getSystemService(NotificationManager::class.java).cancel(id, 0)
            val input = Data.Builder().putString(PushWorker.ID, id).putString(ACTION, action).putString(KEY, key)
            val work = OneTimeWorkRequest.Builder(ResponseWorker::class.java)
                .setInputData(input.build())
                .setConstraints(whenConnected)
                .build()
            WorkManager.getInstance(context).enqueueUniqueWork("response-$key", ExistingWorkPolicy.KEEP, work)
        }
    }

    /** Sends a response when there is a network, so that the user's other devices withdraw the notification. */
    class ResponseWorker(context: Context, parameters: WorkerParameters) : Worker(context, parameters) {
        override fun doWork(): Result {
            val id = inputData.getString(PushWorker.ID) ?: return Result.failure()
            val action = inputData.getString(ACTION) ?: return Result.failure()
            val key = inputData.getString(KEY) ?: return Result.failure()
            return resultOf { Session(applicationContext).call { it.respond(id, action, key) } }
        }
    }
}

/** Receives taps and buttons that open the app, since a receiver may not start an activity. It shows nothing itself. */
class ResponseActivity : Activity() {
    override fun onCreate(savedInstanceState: Bundle?) {
        super.onCreate(savedInstanceState)
        ResponseReceiver.record(this, intent)
        packageManager.getLaunchIntentForPackage(packageName)?.let { startActivity(it) }
        finish()
    }
}
