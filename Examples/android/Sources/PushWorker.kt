package com.example.richpush

import android.app.Notification
import android.app.NotificationChannel
import android.app.NotificationManager
import android.app.PendingIntent
import android.content.Context
import android.content.Intent
import android.graphics.Bitmap
import android.graphics.BitmapFactory
import android.graphics.drawable.Icon
import androidx.work.ForegroundInfo
import androidx.work.Worker
import androidx.work.WorkerParameters
import java.io.File
import java.io.IOException

/** Shows the notification of a push with its picture and buttons, or without those that cannot be read in time. */
class PushWorker(context: Context, parameters: WorkerParameters) : Worker(context, parameters) {
    private val download = PayloadDownload()

    override fun doWork(): Result {
        val id = inputData.getString(ID) ?: return Result.failure()
        val details = details(id)
        // The user has answered on another device, or FCM has delivered the push again.
        if (details?.actionState in listOf("activated", "dismissed")) return Result.success()
        val picture = inputData.getString("richUrl")?.let { picture(it) }
        val builder = builder()
        if (picture != null) {
            builder.setLargeIcon(picture).setStyle(Notification.BigPictureStyle().bigPicture(picture))
        } else {
            builder.setStyle(Notification.BigTextStyle().bigText(inputData.getString("richMessage")))
        }
        builder.setContentIntent(pendingIntent(id, "default", true))
            .setAutoCancel(true)
            .setDeleteIntent(pendingIntent(id, "dismiss", false))
        for (action in details?.let { buttons(it) } ?: emptyList()) {
            val intent = pendingIntent(id, action.identifier, action.opensApp)
            builder.addAction(Notification.Action.Builder(null as Icon?, action.title, intent).build())
        }
        // A newer push of this notification has replaced this one, or the system will repeat the work.
        if (isStopped) return Result.failure()
        notifications.notify(id, 0, builder.build())
        return Result.success()
    }

    override fun onStopped() {
        download.cancel()
    }

    /** Android 11 and older run expedited work as a foreground service, which must show something meanwhile. */
    override fun getForegroundInfo(): ForegroundInfo = ForegroundInfo(1, builder().build())

    private fun builder(): Notification.Builder {
        notifications.createNotificationChannel(
            NotificationChannel(CHANNEL, "Messages", NotificationManager.IMPORTANCE_HIGH))
        return Notification.Builder(applicationContext, CHANNEL)
            // Use a white icon of yours.
            .setSmallIcon(applicationContext.applicationInfo.icon)
            .setContentTitle(inputData.getString("richTitle"))
            .setContentText(inputData.getString("richMessage"))
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

    /** Decodes at a size that a screen shows: 1 MB of JPEG may have 50 MB of pixels. */
    private fun decoded(file: File): Bitmap? {
        val options = BitmapFactory.Options().apply { inJustDecodeBounds = true }
        BitmapFactory.decodeFile(file.path, options)
        options.inJustDecodeBounds = false
        options.inSampleSize = maxOf(1, maxOf(options.outWidth, options.outHeight) / 1_000)
        return BitmapFactory.decodeFile(file.path, options)
    }

    /** The buttons and the state, for which a push has no room. */
    private fun details(id: String): DeviceClient.Notification? =
        try {
            Session(applicationContext).client?.notification(id)
        } catch (error: IOException) {
            null
        }

    private fun buttons(notification: DeviceClient.Notification): List<DeviceClient.Action>? =
        try {
            Session(applicationContext).client?.buttons(notification)
        } catch (error: IOException) {
            null
        }

    /** A response that opens the app goes to its activity, since a receiver may not start one. */
    private fun pendingIntent(id: String, action: String, opensApp: Boolean): PendingIntent? {
        val flags = PendingIntent.FLAG_UPDATE_CURRENT or PendingIntent.FLAG_IMMUTABLE
        val launch = applicationContext.packageManager.getLaunchIntentForPackage(applicationContext.packageName)
        if (opensApp && launch != null) {
            val intent = ResponseReceiver.describe(launch, id, action)
            return PendingIntent.getActivity(applicationContext, 0, intent, flags)
        }
        val intent = ResponseReceiver.describe(Intent(applicationContext, ResponseReceiver::class.java), id, action)
        return PendingIntent.getBroadcast(applicationContext, 0, intent, flags)
    }

    private val notifications: NotificationManager
        get() = applicationContext.getSystemService(NotificationManager::class.java)

    companion object {
        const val ID = "richId"
        private const val CHANNEL = "richpush"
    }
}
