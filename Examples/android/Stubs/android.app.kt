// The declarations of Android's SDK that ../Sources uses, for a check where there is no Android SDK.
@file:Suppress("UNUSED_PARAMETER", "unused")

package android.app

import android.content.Context
import android.content.Intent
import android.graphics.Bitmap
import android.graphics.drawable.Icon
import android.os.Bundle
import android.service.notification.StatusBarNotification

open class Notification {
    open class Style
    class BigTextStyle : Style() {
        fun bigText(text: CharSequence?): BigTextStyle = this
    }

    class BigPictureStyle : Style() {
        fun bigPicture(picture: Bitmap?): BigPictureStyle = TODO()
        fun bigLargeIcon(picture: Bitmap?): BigPictureStyle = TODO()
        fun bigLargeIcon(icon: Icon?): BigPictureStyle = TODO()
    }

    class Action {
        class Builder(icon: Icon?, title: CharSequence?, intent: PendingIntent?) {
            fun build(): Action = TODO()
        }
    }

    class Builder(context: Context, channelId: String) {
        fun setSmallIcon(icon: Int): Builder = this
        fun setLargeIcon(picture: Bitmap?): Builder = this
        fun setContentTitle(title: CharSequence?): Builder = this
        fun setContentText(text: CharSequence?): Builder = this
        fun setOnlyAlertOnce(onlyAlertOnce: Boolean): Builder = this
        fun setStyle(style: Style?): Builder = this
        fun setContentIntent(intent: PendingIntent?): Builder = this
        fun setDeleteIntent(intent: PendingIntent?): Builder = this
        fun setAutoCancel(autoCancel: Boolean): Builder = this
        fun addAction(action: Action): Builder = this
        fun build() = Notification()
    }
}

class NotificationChannel(id: String, name: CharSequence, importance: Int)

class NotificationManager {
    fun createNotificationChannel(channel: NotificationChannel) {}
    fun notify(tag: String?, id: Int, notification: Notification) = println("notify $tag $id")
    val activeNotifications: Array<StatusBarNotification> get() = TODO()
    fun cancel(tag: String?, id: Int) = println("cancel $tag $id")

    companion object {
        const val IMPORTANCE_LOW = 2
        const val IMPORTANCE_HIGH = 4
    }
}

class PendingIntent {
    companion object {
        const val FLAG_UPDATE_CURRENT = 0x08000000
        const val FLAG_IMMUTABLE = 0x04000000

        fun getActivity(context: Context, requestCode: Int, intent: Intent, flags: Int): PendingIntent? = null
        fun getBroadcast(context: Context, requestCode: Int, intent: Intent, flags: Int): PendingIntent? = null
    }
}

abstract class Service : Context()

open class Activity : Context() {
    val intent: Intent get() = TODO()
    open fun onCreate(savedInstanceState: Bundle?) {}
    fun startActivity(intent: Intent) {}
    fun finish() {}
}
