package com.example.richpush

import androidx.work.Data
import androidx.work.ExistingWorkPolicy
import androidx.work.OneTimeWorkRequest
import androidx.work.OutOfQuotaPolicy
import androidx.work.WorkManager
import com.google.firebase.messaging.FirebaseMessagingService
import com.google.firebase.messaging.RemoteMessage

/**
 * Receives blobd's pushes, which must be data messages (an envelope of the style `silent`): while the app is in the
 * background, the system shows notification messages itself and does not call this code.
 */
class PushService : FirebaseMessagingService() {
    /** Called on a thread that Firebase allows some seconds only: the text is shown now, the rest is WorkManager's. */
    override fun onMessageReceived(message: RemoteMessage) {
        val data = message.data
        val id = data[PushWorker.ID] ?: return
        val notification = PushNotification(this, id, data[PushWorker.TITLE], data[PushWorker.MESSAGE])
        if ("richState" in data) {
            // The user has answered on another device.
            WorkManager.getInstance(this).cancelUniqueWork("push-$id")
            notification.withdraw()
            return
        }
        notification.show()
        val work = OneTimeWorkRequest.Builder(PushWorker::class.java)
            .setInputData(Data.Builder().putAll(data).build())
            // Starts at once, even in Doze. There is no network constraint: without a network, the user sees the
            // notification without its picture.
            .setExpedited(OutOfQuotaPolicy.RUN_AS_NON_EXPEDITED_WORK_REQUEST)
            .build()
        // FCM may deliver a push twice. A newer push of the same notification replaces the older one.
        WorkManager.getInstance(this).enqueueUniqueWork("push-$id", ExistingWorkPolicy.REPLACE, work)
    }

    /**
     * Called at the first start and whenever Firebase changes the token. Newer versions of Firebase prefer installation
     * ids to tokens, if the app enables them; blobd's envelope addresses a device by its token.
     */
    @Suppress("OverridingDeprecatedMember", "OVERRIDE_DEPRECATION")
    override fun onNewToken(token: String) {
        Session(this).setPushToken(token)
    }
}
