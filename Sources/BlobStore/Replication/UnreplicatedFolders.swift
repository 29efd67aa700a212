internal import Glibc

/// The folders `unreplicated-epoch-N` in a store's: acknowledged changes of a deposed leader that its shard does not
/// have. They stay until the operator removes them.
package enum UnreplicatedFolders {
    /// What their names begin with; the epoch follows.
    package static let prefix = "unreplicated-epoch-"

    /// How many there are; 0 also if the store's folder cannot be read.
    package static func count(in directory: String) -> Int {
        guard let folder = opendir(directory) else { return 0 }
        defer { closedir(folder) }
        var count = 0
        while let entry = readdir(folder) {
            let begins = withUnsafePointer(to: &entry.pointee.d_name) {
                memcmp($0, prefix, prefix.utf8.count) == 0
            }
            if begins { count += 1 }
        }
        return count
    }
}
