package com.example.richpush

import android.app.Notification
import android.app.NotificationChannel
import android.app.NotificationManager
import android.app.PendingIntent
import android.content.Context
import android.content.Intent
import android.graphics.Bitmap
import android.graphics.drawable.Icon

/** A notification on the screen. Its tag is blobd's id. */
internal class PushNotification(
    private val context: Context, private val id: String, private val title: String?, private val message: String?
) {
    private val manager = context.getSystemService(NotificationManager::class.java)

    val isShown get() = manager.activeNotifications.any { it.tag == id }

    /** Shows it, or shows what has come since. */
    fun show(buttons: List<DeviceClient.Action> = emptyList(), picture: Bitmap? = null) {
        val builder = builder(context, "richpush", "Messages", NotificationManager.IMPORTANCE_HIGH)
            .setContentTitle(title)
            .setContentText(message)
            // What comes later makes no sound.
            .setOnlyAlertOnce(true)
            .setContentIntent(pendingIntent("default", true))
            .setAutoCancel(true)
            .setDeleteIntent(pendingIntent("dismiss", false))
        if (picture != null) {
            // The large icon is the same picture: expanded, there is one.
            val style = Notification.BigPictureStyle().bigPicture(picture).bigLargeIcon(null as Bitmap?)
            builder.setLargeIcon(picture).setStyle(style)
        } else {
            builder.setStyle(Notification.BigTextStyle().bigText(message))
        }
        for (button in buttons) {
            val intent = pendingIntent(button.identifier, button.opensApp)
            builder.addAction(Notification.Action.Builder(null as Icon?, button.title, intent).build())
        }
        manager.notify(id, 0, builder.build())
    }

    fun withdraw() {
        manager.cancel(id, 0)
    }

    /** A receiver may not start an activity. */
    private fun pendingIntent(action: String, opensApp: Boolean): PendingIntent? {
        val flags = PendingIntent.FLAG_UPDATE_CURRENT or PendingIntent.FLAG_IMMUTABLE
        val receiver = if (opensApp) ResponseActivity::class.java else ResponseReceiver::class.java
        val intent = ResponseReceiver.describe(Intent(context, receiver), id, action)
        return if (opensApp) PendingIntent.getActivity(context, 0, intent, flags)
        else PendingIntent.getBroadcast(context, 0, intent, flags)
    }

    companion object {
        fun builder(context: Context, channel: String, name: String, importance: Int): Notification.Builder {
            context.getSystemService(NotificationManager::class.java)
                .createNotificationChannel(NotificationChannel(channel, name, importance))
            // Use a white icon of yours.
            return Notification.Builder(context, channel).setSmallIcon(context.applicationInfo.icon)
        }
    }
}
