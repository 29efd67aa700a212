import BlobProtocol
import Logging

/// Reads the files again that may change while the daemon runs: what a SIGHUP is for. A file with a
/// mistake changes nothing. The main thread alone uses it.
final class Reloader {
    private let signingKeyPath: String?
    private let links: LinkKeys
    private let log: Logger
    /// Whether it was said that there is nothing to reload.
    private var hasSaidNothing = false

    init(_ options: DaemonOptions, _ links: LinkKeys, _ log: Logger) {
        signingKeyPath = options.signingKeyPath
        self.links = links
        self.log = log
    }

    func reload() {
        guard let path = signingKeyPath else {
            if !hasSaidNothing { log.notice("SIGHUP: there is no file to read again") }
            hasSaidNothing = true
            return
        }
        do {
            let keys = try SigningKeyFile.read(path)
            links.keys = keys
            log.notice("SIGHUP: read \(path): the keys \(keys.ids.joined(separator: ", "))")
        } catch {
            log.error("SIGHUP: \(error); the keys are as they were")
        }
    }
}
