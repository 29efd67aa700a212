// The declarations of Android's SDK that ../Sources uses, for a check where there is no Android SDK.
@file:Suppress("UNUSED_PARAMETER", "unused")

package android.content

import android.content.pm.ApplicationInfo
import android.content.pm.PackageManager
import java.io.File

abstract class Context {
    val applicationInfo = ApplicationInfo()
    val cacheDir: File get() = TODO()
    val packageManager: PackageManager get() = TODO()
    val packageName: String get() = TODO()

    fun getSharedPreferences(name: String?, mode: Int): SharedPreferences = TODO()
    fun <T> getSystemService(serviceClass: Class<T>): T = serviceClass.getDeclaredConstructor().newInstance()

    companion object {
        const val MODE_PRIVATE = 0
    }
}

interface SharedPreferences {
    fun getString(key: String?, defaultValue: String?): String?
    fun edit(): Editor

    interface Editor {
        fun putString(key: String?, value: String?): Editor
        fun remove(key: String?): Editor
        fun apply()
    }
}

class Intent(context: Context, receiver: Class<*>) {
    fun setIdentifier(identifier: String?): Intent = this
    fun putExtra(name: String, value: String?): Intent = this
    fun getStringExtra(name: String): String? = TODO()
}

abstract class BroadcastReceiver {
    abstract fun onReceive(context: Context, intent: Intent)
}
