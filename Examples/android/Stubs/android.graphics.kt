// The declarations of Android's SDK that ../Sources uses, for a check where there is no Android SDK.
@file:Suppress("UNUSED_PARAMETER", "unused")

package android.graphics

class Bitmap

object BitmapFactory {
    class Options {
        var inJustDecodeBounds = false
        var inSampleSize = 0
        var outWidth = 0
        var outHeight = 0
    }

    fun decodeFile(path: String?, options: Options?): Bitmap? = TODO()
}
