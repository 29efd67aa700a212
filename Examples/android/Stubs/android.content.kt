// The declarations of Android's SDK that ../Sources uses, for a check of its types where there is no Android SDK.
@file:Suppress("UNUSED_PARAMETER", "unused")

package android.content

import android.content.pm.ApplicationInfo
import android.content.pm.PackageManager
import java.io.File

abstract class Context {
    val applicationInfo: ApplicationInfo get() = TODO()
    val cacheDir: File get() = TODO()
    val packageManager: PackageManager get() = TODO()
    val packageName: String get() = TODO()

    fun getSharedPreferences(name: String?, mode: Int): SharedPreferences = TODO()
    fun <T> getSystemService(serviceClass: Class<T>): T = TODO()

    companion object {
        const val MODE_PRIVATE = 0
    }
}

interface SharedPreferences {
    fun getString(key: String?, defaultValue: String?): String?
}

class Intent(context: Context, receiver: Class<*>) {
    fun setIdentifier(identifier: String?): Intent = TODO()
    fun putExtra(name: String, value: String?): Intent = TODO()
    fun getStringExtra(name: String): String? = TODO()
}

abstract class BroadcastReceiver {
    abstract fun onReceive(context: Context, intent: Intent)
}
