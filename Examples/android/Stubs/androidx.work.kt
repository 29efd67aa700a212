// The declarations of WorkManager that ../Sources uses, for a check where there is no Android SDK.
@file:Suppress("UNUSED_PARAMETER", "unused")

package androidx.work

import android.app.Notification
import android.content.Context
import java.util.concurrent.TimeUnit

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
        fun putAll(values: Map<String, Any?>): Builder = this
        fun putString(key: String, value: String?): Builder = this
        fun build(): Data = Data()
    }
}

class Constraints {
    class Builder {
        fun setRequiredNetworkType(networkType: NetworkType): Builder = TODO()
        fun build(): Constraints = TODO()
    }
}

class PeriodicWorkRequest {
    class Builder(workerClass: Class<out ListenableWorker>, repeatInterval: Long, unit: TimeUnit) {
        fun setConstraints(constraints: Constraints): Builder = TODO()
        fun build(): PeriodicWorkRequest = TODO()
    }
}

class OneTimeWorkRequest {
    class Builder(workerClass: Class<out ListenableWorker>) {
        fun setInputData(inputData: Data): Builder = this
        fun setConstraints(constraints: Constraints): Builder = this
        fun setExpedited(policy: OutOfQuotaPolicy): Builder = this
        fun build(): OneTimeWorkRequest = OneTimeWorkRequest()
    }
}

class WorkManager {
    fun enqueueUniqueWork(name: String, policy: ExistingWorkPolicy, work: OneTimeWorkRequest) = println("enqueue $name $policy")
    fun enqueueUniquePeriodicWork(name: String, policy: ExistingPeriodicWorkPolicy, work: PeriodicWorkRequest): Any = TODO()
    fun cancelUniqueWork(name: String) = println("cancel $name")

    companion object {
        fun getInstance(context: Context) = WorkManager()
    }
}

enum class ExistingWorkPolicy { REPLACE, KEEP }
enum class ExistingPeriodicWorkPolicy { CANCEL_AND_REENQUEUE }
enum class NetworkType { CONNECTED }
enum class OutOfQuotaPolicy { RUN_AS_NON_EXPEDITED_WORK_REQUEST }
