// The declarations of Android's SDK that ../Sources uses, for a check of its types where there is no Android SDK.
@file:Suppress("UNUSED_PARAMETER", "unused")

package android.app

import android.content.Context
import android.content.Intent
import android.graphics.Bitmap
import android.graphics.drawable.Icon

open class Notification {
    open class Style
    class BigTextStyle : Style() {
        fun bigText(text: CharSequence?): BigTextStyle = TODO()
    }

    class BigPictureStyle : Style() {
        fun bigPicture(picture: Bitmap?): BigPictureStyle = TODO()
    }

    class Action {
        class Builder(icon: Icon?, title: CharSequence?, intent: PendingIntent?) {
            fun build(): Action = TODO()
        }
    }

    class Builder(context: Context, channelId: String) {
        fun setSmallIcon(icon: Int): Builder = TODO()
        fun setLargeIcon(picture: Bitmap?): Builder = TODO()
        fun setContentTitle(title: CharSequence?): Builder = TODO()
        fun setContentText(text: CharSequence?): Builder = TODO()
        fun setStyle(style: Style?): Builder = TODO()
        fun setContentIntent(intent: PendingIntent?): Builder = TODO()
        fun setDeleteIntent(intent: PendingIntent?): Builder = TODO()
        fun setAutoCancel(autoCancel: Boolean): Builder = TODO()
        fun addAction(action: Action): Builder = TODO()
        fun build(): Notification = TODO()
    }
}

class NotificationChannel(id: String, name: CharSequence, importance: Int)

class NotificationManager {
    fun createNotificationChannel(channel: NotificationChannel) {}
    fun notify(tag: String?, id: Int, notification: Notification) {}
    fun cancel(tag: String?, id: Int) {}

    companion object {
        const val IMPORTANCE_HIGH = 4
    }
}

class PendingIntent {
    companion object {
        const val FLAG_UPDATE_CURRENT = 0x08000000
        const val FLAG_IMMUTABLE = 0x04000000

        fun getActivity(context: Context, requestCode: Int, intent: Intent, flags: Int): PendingIntent? = TODO()
        fun getBroadcast(context: Context, requestCode: Int, intent: Intent, flags: Int): PendingIntent? = TODO()
    }
}

abstract class Service : Context()
