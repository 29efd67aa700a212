internal import Glibc

/// How large a file system is, and how much of it is free (`fstatvfs`).
struct Disk {
    let byteCount: Int
    let availableByteCount: Int

    init?(_ descriptor: Int32) {
        var status = statvfs()
        guard fstatvfs(descriptor, &status) == 0 else { return nil }
        func bytes(_ blocks: UInt) -> Int {
            let (product, overflow) = blocks.multipliedReportingOverflow(by: status.f_frsize)
            return overflow ? .max : Int(clamping: product)
        }
        byteCount = bytes(status.f_blocks)
        availableByteCount = bytes(status.f_bavail)
    }
}
