// The declarations of Firebase's SDK that ../Sources uses, for a check where there is no Android SDK.
@file:Suppress("UNUSED_PARAMETER", "unused")

package com.google.firebase.messaging

import android.app.Service

open class FirebaseMessagingService : Service() {
    open fun onMessageReceived(message: RemoteMessage) {}

    @Deprecated("Firebase prefers onRegistered(), with the installation's id.")
    open fun onNewToken(token: String) {}
}

class RemoteMessage(val data: Map<String, String>)
