// The declarations of WorkManager that ../Sources uses, for a check of its types where there is no Android SDK.
@file:Suppress("UNUSED_PARAMETER", "unused")

package androidx.work

import android.app.Notification
import android.content.Context

abstract class ListenableWorker(context: Context, parameters: WorkerParameters) {
    val applicationContext: Context get() = TODO()
    val inputData: Data get() = TODO()
    val isStopped: Boolean get() = TODO()
    open fun onStopped() {}

    abstract class Result {
        companion object {
            fun success(): Result = TODO()
            fun failure(): Result = TODO()
            fun retry(): Result = TODO()
        }
    }
}

abstract class Worker(context: Context, parameters: WorkerParameters) : ListenableWorker(context, parameters) {
    abstract fun doWork(): Result
    open fun getForegroundInfo(): ForegroundInfo = TODO()
}

class WorkerParameters
class ForegroundInfo(notificationId: Int, notification: Notification)

class Data {
    fun getString(key: String): String? = TODO()

    class Builder {
        fun putAll(values: Map<String, Any?>): Builder = TODO()
        fun putString(key: String, value: String?): Builder = TODO()
        fun build(): Data = TODO()
    }
}

class Constraints {
    class Builder {
        fun setRequiredNetworkType(networkType: NetworkType): Builder = TODO()
        fun build(): Constraints = TODO()
    }
}

class OneTimeWorkRequest {
    class Builder(workerClass: Class<out ListenableWorker>) {
        fun setInputData(inputData: Data): Builder = TODO()
        fun setConstraints(constraints: Constraints): Builder = TODO()
        fun setExpedited(policy: OutOfQuotaPolicy): Builder = TODO()
        fun build(): OneTimeWorkRequest = TODO()
    }
}

abstract class WorkManager {
    abstract fun enqueueUniqueWork(name: String, policy: ExistingWorkPolicy, work: OneTimeWorkRequest): Any

    companion object {
        fun getInstance(context: Context): WorkManager = TODO()
    }
}

enum class ExistingWorkPolicy { REPLACE, KEEP }
enum class NetworkType { CONNECTED }
enum class OutOfQuotaPolicy { RUN_AS_NON_EXPEDITED_WORK_REQUEST }
