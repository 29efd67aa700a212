import Glibc
import TestSupport

/// What this machine lets a test do.
enum Machine {
    /// Whether `strace` is here and allowed to trace.
    static let canTrace =
        (try? run(["/usr/bin/strace", "-o", "/dev/null", "/bin/true"]).end) == .exited(0)

    /// Whether this process may act as another user.
    static let canChangeUser = geteuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0
}

/// A number from `/proc/{pid}/status`, such as `VmRSS`, in the unit the kernel gives it in; 0 when
/// there is none.
func processStatus(_ pid: pid_t, _ name: String) -> Int {
    for line in Files.text("/proc/\(pid)/status").split(separator: "\n")
    where line.hasPrefix("\(name):") {
        return Int(line.filter(\.isNumber)) ?? 0
    }
    return 0
}
