/// What reading the configuration again has found. All of it is within its bounds.
package struct Reload {
    /// What holds from now on. What a running daemon cannot change is in it as it was.
    package var options: DaemonOptions
    /// What is different, one line for each setting: `max-payload: 64MiB, was 32MiB`.
    package var changes: [String]
    /// What is different and needs a restart, in the same way.
    package var pendingRestart: [String]

    package init(options: DaemonOptions, changes: [String], pendingRestart: [String]) {
        self.options = options
        self.changes = changes
        self.pendingRestart = pendingRestart
    }

    /// Reads the configuration again. Throws what is wrong with it, in words for the operator.
    ///
    /// The argument is what the daemon runs with.
    package typealias Read = (DaemonOptions) throws -> Reload
}
