import BlobServer
import CLinux
import Glibc

/// The number of the daemon's process.
enum DaemonNumber {
    /// Nil where none is seen.
    static func find(_ options: DaemonOptions) -> Int? {
        let candidates = [lockHolder(of: options.dataPath), listener(at: options.socketPath)]
        return candidates.compactMap { $0 }.first(where: isDaemon)
    }

    /// The process that holds the lock of a store's folder.
    private static func lockHolder(of directory: String) -> Int? {
        guard !directory.isEmpty, let status = SystemFiles.status("\(directory)/blobd.lock"),
            let locks = SystemFiles.text("/proc/locks")
        else { return nil }
        return number(inLocks: locks, ofInode: UInt64(status.st_ino))
    }

    /// The process with a `flock` on an inode, from the text of `/proc/locks`. It names the device, too, but not
    /// on every file system the one that `stat` gives.
    static func number(inLocks text: String, ofInode inode: UInt64) -> Int? {
        for line in text.split(separator: "\n") {
            // 1: FLOCK  ADVISORY  WRITE 1234 08:01:131 0 EOF
            let words = line.split(separator: " ")
            guard words.count > 5, words[1] == "FLOCK" else { continue }
            if words[5].split(separator: ":").last == "\(inode)" { return Int(words[4]) }
        }
        return nil
    }

    /// The process that listens at a socket. Of one that was passed, that is the service manager.
    private static func listener(at socket: String) -> Int? {
        let number = clinux_unix_socket()
        guard number >= 0 else { return nil }
        defer { close(number) }
        var path = socket
        guard path.withUTF8({ clinux_connect(number, $0.baseAddress, $0.count) }) == 0 else {
            return nil
        }
        let process = clinux_peer_process(number)
        return process > 0 ? Int(process) : nil
    }

    private static func isDaemon(_ number: Int) -> Bool {
        SystemFiles.text("/proc/\(number)/comm")?.hasPrefix("blobd") == true
    }
}
