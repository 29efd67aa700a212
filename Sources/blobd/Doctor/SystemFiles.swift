import BlobServer
import FoundationEssentials
import Glibc

enum SystemFiles {
    static func text(_ path: String, byteCountMax: Int = 1 << 20) -> String? {
        guard let bytes = try? SmallFile.read(path, byteCountMax: byteCountMax) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func number(_ path: String) -> Int? {
        text(path)?.split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) }
    }

    /// The status of a file (`lstat`); nil if it does not exist or cannot be accessed.
    static func status(_ path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 ? status : nil
    }

    /// Advice for a user who may not look.
    static let otherUser = "Run blobd doctor as root or as the daemon's user."

    /// Whether only permission to read a file is lacking.
    static func isClosed(_ path: String) -> Bool { access(path, R_OK) != 0 && errno == EACCES }

    /// What a process has open, in the order of its descriptors, as `/proc` names it. Empty if that cannot be read: only
    /// its user and root may.
    static func openFiles(of process: Int) -> [String] {
        let folder = "/proc/\(process)/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.compactMap(Int.init).sorted().map { number in
            var link = [UInt8](repeating: 0, count: Int(PATH_MAX))
            let count = readlink("\(folder)/\(number)", &link, link.count)
            return String(decoding: link.prefix(max(0, count)), as: UTF8.self)
        }
    }

    /// The words after `name` in the first line that begins with it; nil if there is none.
    static func words(of text: String, after name: String) -> [Substring]? {
        text.split(separator: "\n").first { $0.hasPrefix(name) }
            .map { $0.dropFirst(name.count).split(separator: " ") }
    }

    static func mode(_ status: stat) -> String { "0" + String(status.st_mode & 0o7777, radix: 8) }

    static func ownerAndMode(_ status: stat) -> String {
        "\(user(status.st_uid)), mode \(mode(status))"
    }

    static func user(_ id: uid_t) -> String {
        getpwuid(id).map { String(cString: $0.pointee.pw_name) } ?? "\(id)"
    }

    static func group(_ id: gid_t) -> String {
        getgrgid(id).map { String(cString: $0.pointee.gr_name) } ?? "\(id)"
    }

    /// Whether a user is in a group, as its primary or as an additional one.
    static func isMember(_ user: String, of group: gid_t) -> Bool {
        if let entry = getpwnam(user), entry.pointee.pw_gid == group { return true }
        guard var member = getgrgid(group)?.pointee.gr_mem else { return false }
        while let name = member.pointee {
            if String(cString: name) == user { return true }
            member += 1
        }
        return false
    }
}
