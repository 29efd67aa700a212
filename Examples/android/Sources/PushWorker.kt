package com.example.richpush

import android.app.NotificationManager
import android.content.Context
import android.graphics.Bitmap
import android.graphics.BitmapFactory
import androidx.work.ForegroundInfo
import androidx.work.Worker
import androidx.work.WorkerParameters
import java.io.File
import java.io.IOException

/** Adds buttons and picture to a notification whose text is shown already, as they come. */
class PushWorker(context: Context, parameters: WorkerParameters) : Worker(context, parameters) {
    private val download = PayloadDownload()

    override fun doWork(): Result {
        val id = inputData.getString(ID) ?: return Result.failure()
        val notification = PushNotification(applicationContext, id, inputData.getString(TITLE), inputData.getString(MESSAGE))
        val details = details(id)
        if (details?.actionState in listOf("activated", "dismissed")) {
            // The user has answered on another device, or FCM has delivered the push again.
            notification.withdraw()
            return Result.success()
        }
        val buttons = details?.let { buttons(it) } ?: emptyList()
        // Not if the user has answered meanwhile, or a newer push has replaced this one.
        fun update(picture: Bitmap?) {
            if (!isStopped && notification.isShown) notification.show(buttons, picture)
        }
        if (buttons.isNotEmpty()) update(null)
        inputData.getString("richUrl")?.let { picture(it) }?.let { update(it) }
        return Result.success()
    }

    override fun onStopped() {
        download.cancel()
    }

    /** Android 11 and older run expedited work as a foreground service, which must show something: here without a sound. */
    override fun getForegroundInfo(): ForegroundInfo {
        val importance = NotificationManager.IMPORTANCE_LOW
        val notice = PushNotification.builder(applicationContext, "richpush-downloads", "Downloads", importance)
        return ForegroundInfo(1, notice.setContentTitle("Downloading a picture").build())
    }

    private fun picture(link: String): Bitmap? =
        try {
            val file = download.run(link, applicationContext.cacheDir).file
            try {
                decoded(file)
            } finally {
                file.delete()
            }
        } catch (error: Exception) {
            null
        }

    private fun decoded(file: File): Bitmap? {
        val options = BitmapFactory.Options().apply { inJustDecodeBounds = true }
        BitmapFactory.decodeFile(file.path, options)
        options.inJustDecodeBounds = false
        options.inSampleSize = sampleSize(options.outWidth, options.outHeight)
        return BitmapFactory.decodeFile(file.path, options)
    }

    /** The buttons and the state, for which a push has no room. */
    private fun details(id: String): DeviceClient.Notification? =
        try {
            Session(applicationContext).call { it.notification(id) }
        } catch (error: IOException) {
            null
        }

    private fun buttons(notification: DeviceClient.Notification): List<DeviceClient.Action>? =
        try {
            Session(applicationContext).call { it.buttons(notification) }
        } catch (error: IOException) {
            null
        }

    companion object {
        const val ID = "richId"
        const val TITLE = "richTitle"
        const val MESSAGE = "richMessage"
    }
}
