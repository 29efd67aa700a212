// The declarations of Android's SDK that ../Sources uses, for a check where there is no Android SDK.
package android.service.notification

class StatusBarNotification {
    val tag: String? get() = TODO()
}
