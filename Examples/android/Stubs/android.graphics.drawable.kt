// The declarations of Android's SDK that ../Sources uses, for a check where there is no Android SDK.
@file:Suppress("UNUSED_PARAMETER", "unused")

package android.graphics.drawable

class Icon
