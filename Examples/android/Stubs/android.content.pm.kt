// The declarations of Android's SDK that ../Sources uses, for a check where there is no Android SDK.
@file:Suppress("UNUSED_PARAMETER", "unused")

package android.content.pm

import android.content.Intent

class ApplicationInfo {
    val icon = 0
}

abstract class PackageManager {
    abstract fun getLaunchIntentForPackage(packageName: String): Intent?
}
