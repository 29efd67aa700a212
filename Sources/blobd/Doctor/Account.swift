import Glibc

/// A user, to whom the modes of files and folders open them or not.
struct Account {
    let name: String
    private let id: uid_t
    private let groups: [gid_t]

    enum Access: mode_t {
        case read = 4
        case enter = 1
    }

    struct Obstacle: CustomStringConvertible {
        let path: String
        let status: stat
        /// A warning if an access control list, which is not read, may let the user in: the group's bits are its mask.
        let state: Finding.State

        var description: String { "\(path) (\(SystemFiles.ownerAndMode(status)))" }
    }

    /// nil if there is no such user.
    init?(name: String) {
        guard let entry = getpwnam(name) else { return nil }
        var groups = [gid_t](repeating: 0, count: 256)
        var count = CInt(groups.count)
        getgrouplist(name, entry.pointee.pw_gid, &groups, &count)
        self.name = name
        id = entry.pointee.pw_uid
        self.groups = Array(groups.prefix(max(0, Int(count))))
    }

    /// The user that a process is; nil if it is gone.
    init?(process: Int) {
        guard let text = SystemFiles.text("/proc/\(process)/status") else { return nil }
        func numbers(_ name: String) -> [UInt32] {
            text.split(separator: "\n").first { $0.hasPrefix(name) }?
                .split(whereSeparator: \.isWhitespace).compactMap { UInt32($0) } ?? []
        }
        // The last one is for files (proc(5)).
        guard let id = numbers("Uid:").last, let group = numbers("Gid:").last else { return nil }
        self.id = id
        groups = [group] + numbers("Groups:")
        name = SystemFiles.user(id)
    }

    /// The owner of a file; nil if that is not seen, or has no name.
    init?(ownerOf path: String) {
        guard let status = SystemFiles.status(path) else { return nil }
        self.init(name: SystemFiles.user(status.st_uid))
    }

    /// What is closed to this user on the way to a file or folder, or itself; nil: nothing, as far as can be seen.
    func obstacle(_ path: String, _ access: Access) -> Obstacle? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        guard let real = realpath(path, &buffer).map({ String(cString: $0) }) else { return nil }
        var place = ""
        let names = real.split(separator: "/")
        for (index, name) in names.enumerated() {
            place += "/\(name)"
            guard let status = SystemFiles.status(place) else { return nil }
            let wanted = (index == names.count - 1 ? access : .enter).rawValue
            guard !has(wanted, status) else { continue }
            let state: Finding.State = status.st_mode >> 3 & wanted == 0 ? .problem : .warning
            return Obstacle(path: place, status: status, state: state)
        }
        return nil
    }

    private func has(_ wanted: mode_t, _ status: stat) -> Bool {
        guard id != 0 else { return true }
        let shift: mode_t =
            status.st_uid == id ? 6 : groups.contains(status.st_gid) ? 3 : 0
        return status.st_mode >> shift & wanted != 0
    }
}
