import BlobServer
import Glibc

/// nginx's end: whether its configuration passes requests to this daemon, and keeps connections open.
struct NginxChecks {
    /// Its configuration, with all that it includes, as `nginx -T` prints it.
    let text: String
    let options: DaemonOptions

    func run() -> [Finding] {
        // Without comments.
        let lines = text.split(separator: "\n").map { line in
            line.prefix { $0 != "#" }
        }
        let plain = lines.joined(separator: "\n")
        let sockets = [options.socketPath, options.deviceSocketPath].compactMap { $0 }
        guard let socket = sockets.first(where: { plain.contains("unix:\($0)") }) else {
            return [
                .problem(
                    "nginx", "no `server unix:\(sockets.last ?? "")` in its configuration",
                    "Its upstream names another socket, or none: see docs/NGINX.md.")
            ]
        }
        var findings = [Finding.ok("nginx", "it passes requests to \(socket)")]
        if !plain.contains("keepalive ") || !plain.contains("proxy_http_version 1.1") {
            findings.append(
                .warning(
                    "nginx keep-alive", "each request opens a new connection",
                    "Three times the work: `keepalive 32;` in the upstream, `proxy_http_version 1.1;` and `proxy_set_header Connection \"\";` in the location."
                ))
        }
        if socket == options.socketPath, options.deviceSocketPath != nil {
            findings.append(
                .warning(
                    "nginx socket", "it uses the main socket",
                    "The device socket answers only links: let nginx use \(options.deviceSocketPath ?? "")."
                ))
        }
        return findings + [user(plain, socket)].compactMap { $0 }
    }

    /// Whether nginx's user may connect.
    private func user(_ plain: String, _ socket: String) -> Finding? {
        guard let status = SystemFiles.status(socket) else { return nil }
        var user = "nobody"
        for line in plain.split(separator: "\n") {
            let words = line.split { $0.isWhitespace || $0 == ";" }
            if words.count > 1, words[0] == "user" { user = String(words[1]) }
        }
        guard getpwnam(user) != nil else { return nil }
        let group = SystemFiles.group(status.st_gid)
        guard SystemFiles.isMember(user, of: status.st_gid) || user == "root" else {
            return .problem(
                "nginx user", "\(user) is not in the socket's group \(group)",
                "It gets 502 for all: set the socket's group to \(user)'s, or usermod -aG \(group) \(user) and restart nginx."
            )
        }
        return .ok("nginx user", "\(user) is in the group \(group)")
    }
}
