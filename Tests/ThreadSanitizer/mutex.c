// Tells the thread sanitizer what it cannot see of Swift's Mutex.
//
// On Linux the fast path of Mutex is an atomic in our own code, which the sanitizer follows. When a lock is contended, its word is changed by
// the kernel (FUTEX_LOCK_PI), inside a library that is not instrumented; the sanitizer then takes what the lock protects for a race. This library is
// preloaded: it calls the real slow paths, and says that taking a lock comes after the release before it.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

typedef SWIFT void (*LockSlow)(uint32_t thread, SELF void *word);
typedef SWIFT void (*UnlockSlow)(SELF void *word);

// Synchronization._MutexHandle._lockSlow(UInt32) -> ()
SWIFT void lock_slow(uint32_t thread, SELF void *word) __asm__(
    "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
SWIFT void lock_slow(uint32_t thread, SELF void *word) {
    static LockSlow next;
    if (!next)
        next = (LockSlow)dlsym(RTLD_NEXT, "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
    next(thread, word);
    if (__tsan_acquire) __tsan_acquire(word);
}

// Synchronization._MutexHandle._unlockSlow() -> ()
SWIFT void unlock_slow(SELF void *word) __asm__(
    "$s15Synchronization12_MutexHandleV11_unlockSlowyyF");
SWIFT void unlock_slow(SELF void *word) {
    static UnlockSlow next;
    if (!next)
        next = (UnlockSlow)dlsym(RTLD_NEXT, "$s15Synchronization12_MutexHandleV11_unlockSlowyyF");
    if (__tsan_release) __tsan_release(word);
    next(word);
}
