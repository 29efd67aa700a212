import Glibc

/// A host in a folder, on which the commands of a document run: paths of the system are replaced by paths in the folder,
/// and stand-ins for `systemctl`, `apt`, `ssh` … do what the document needs of them.
public final class StandInHost {
    /// Its folder's name.
    public let name: String
    /// What a document's text is replaced with in commands, and back in what they print. The first that fits counts.
    public var places: [(document: String, own: String)]
    /// The environment of its commands.
    public let environment: [String: String]
    private let path: String
    // Its daemon is killed before the folder goes.
    private let folder: TemporaryFolder

    /// Makes the folder `name`, and in `tools` the stand-ins, which hosts in one folder share.
    ///
    /// - Parameters:
    ///   - settings: added to the configuration.
    ///   - environment: added to that of its commands.
    public init(
        in folder: TemporaryFolder, _ name: String, settings: String = "",
        _ environment: [String: String] = [:]
    ) throws {
        self.name = name
        self.folder = folder
        path = folder.path(name)
        let folders = [
            "", "/etc", "/run", "/var", "/var/lib", "/var/lib/blobd", "/var/tmp", "/var/backups",
            "/var/log", "/var/log/blobd", "/etc/nginx", "/etc/nginx/conf.d",
        ]
        for sub in folders { mkdir(path + sub, 0o755) }
        let configuration =
            "data: \(path)/var/lib/blobd\nsocket: \(path)/run/blobd.sock\n\(settings)"
        try folder.write("\(name)/etc/blobd.yaml", Array(configuration.utf8))
        chmod("\(path)/var/lib/blobd", 0o700)
        let nginx =
            "user www-data;\nupstream blobd { server unix:\(path)/run/blobd.sock; keepalive 32; }\nproxy_http_version 1.1;\n"
        try folder.write("\(name)/etc/nginx.conf", Array(nginx.utf8))
        if mkdir(folder.path("tools"), 0o755) == 0 {
            for tool in Self.tools {
                chmod(try folder.write("tools/\(tool)", Array(Self.script.utf8)), 0o755)
            }
        }
        let own = [
            "PATH":
                "\(folder)/tools:\(Files.products):\(getenv("PATH").map { String(cString: $0) } ?? "")",
            "TMPDIR": folder.path, "HOST": path, "BLOBD": "\(Files.products)/blobd",
            "PACKAGE": Files.package,
            "BLOBD_CONFIG": "\(path)/etc/blobd.yaml", "BLOBD_SOCKET": "\(path)/run/blobd.sock",
            "USER": "ann",
        ]
        self.environment = environment.merging(own) { $1 }
        places = [
            ("/var/", "\(path)/var/"), ("/run/blobd/", "\(path)/run/"),
            ("/run/blobd-03/", "\(path)/run/"),
            ("/etc/blobd/", "\(path)/etc/"), ("/etc/nginx/", "\(path)/etc/nginx/"),
            ("/usr/share/doc/blobd/examples/", "\(Files.package)/Packaging/"),
        ]
    }

    deinit { lose() }

    private static let tools = [
        "aplay", "apt", "apt-get", "blobd", "certbot", "chown", "journalctl", "magick", "nginx",
        "python3", "ssh", "sudo", "systemctl", "usermod",
    ]

    private static let script = """
        #!/bin/sh
        # What a tool of $HOST does. A use that no document has is refused.
        log() { tail -n 3 "$HOST/log" >&2; }
        start() {
            : >"$HOST/ready"
            setsid "$BLOBD" serve --config "$HOST/etc/blobd.yaml" >"$HOST/ready" 2>>"$HOST/log" </dev/null &
            echo $! >"$HOST/pid"
            until grep -q ' ready: ' "$HOST/ready"; do
                kill -0 "$(cat "$HOST/pid")" 2>/dev/null || { log; exit 1; }
                sleep 0.02
            done
        }
        # One that does not run is stopped already.
        stop() {
            [ -e "$HOST/pid" ] || return 0
            pid="$(cat "$HOST/pid")" && kill -TERM "$pid" || exit 1
            while kill -0 "$pid" 2>/dev/null && [ "$(cut -d' ' -f3 /proc/$pid/stat)" != Z ]; do sleep 0.02; done
            rm -f "$HOST/pid"
        }
        case "${0##*/} $*" in
            'systemctl start blobd' | 'systemctl start blobd@03') start ;;
            # With its socket, through which the next client would start it again.
            'systemctl stop blobd.socket blobd' | 'systemctl disable --now blobd@03') stop ;;
            'systemctl restart blobd') stop; start ;;
            'systemctl reload blobd') blobd serve --check-config && kill -HUP "$(cat "$HOST/pid")" ;;
            'systemctl reload nginx' | 'systemctl enable blobd-devices.socket' | 'apt-get update') ;;
            'systemctl enable --now blobd-backup.timer') ;;
            'systemctl start blobd-backup')
                mkdir -p "$HOST/var/backups/blobd" && blobd backup "$HOST/var/backups/blobd/now.blobd" ;;
            # A thread of the daemon writes it.
            'sudo cat '*access.log) until [ -s "$2" ]; do sleep 0.02; done; cat "$2" ;;
            'sudo '*) exec "$@" ;;
            'ssh push '* | 'ssh old '*) shift; exec sh -c "$*" ;;
            'magick '*) cat "$1" ;;
            'aplay ') cat >/dev/null ;;
            'journalctl -u blobd '*) cat "$HOST/log" ;;
            # Findings about the machine are not the document's.
            'blobd doctor'*) shift; "$BLOBD" doctor --nginx "$HOST/etc/nginx.conf" "$@" || [ $? = 1 ] ;;
            blobd*) exec "$BLOBD" "$@" ;;
            'apt install '*.deb | 'apt-get install '*.deb)
                for name; do :; done
                expr "$name" : '\\./blobd_.*_amd64\\.deb$' >/dev/null && stop && start ;;
            'apt-get install '* | 'usermod -aG blobd '* | 'chown '*blobd*) ;;
            # Its ports may be taken: the configuration is only checked.
            'nginx -p '*) PATH="/usr/sbin:${PATH#*:}" exec nginx "$@" -t ;;
            'certbot certonly --nginx -d '* | 'nginx -t') ;;
            # The example's packages are installed beside it; its server runs until the host is gone.
            'python3 -m venv venv')
                mkdir -p venv/bin && ln -sf "$0" venv/bin/python3 && ln -s /bin/true venv/bin/pip ;;
            'python3 Examples/clients/'*) PATH="${PATH#*:}" exec python3 "$@" ;;
            'python3 Examples/python/backend.py '*)
                setsid "$PACKAGE/.build/push-venv/bin/python3" "$@" >"$HOST/backend" 2>&1 </dev/null &
                echo $! >"$HOST/backend-pid"
                for try in $(seq 3000); do
                    curl -s -o /dev/null "localhost:$2" && exit
                    sleep 0.1
                done
                cat "$HOST/backend"; exit 1 ;;
            *) echo "no stand-in for: ${0##*/} $*" >&2; exit 5 ;;
        esac

        """

    /// A command with the host's paths in the place of the document's.
    public func command(_ text: String) -> String {
        places.reduce(text) { $0.replacing($1.document, with: $1.own) }
    }

    /// What a command printed, with the document's paths.
    public func output(_ text: String) -> String {
        places.reduce(text) { $0.replacing($1.own, with: $1.document) }
    }

    /// Runs a command in a shell of its own.
    public func run(_ text: String) throws -> (end: ProcessEnd, output: String) {
        let (end, output, errors) = try TestSupport.run(
            ["timeout", "-k", "10", "900", "/bin/sh", "-c", command(text)],
            environment: environment)
        return (end, self.output(String(decoding: output, as: UTF8.self) + errors))
    }

    /// Starts the daemon.
    public func start() throws {
        let (end, output) = try run("systemctl start blobd")
        guard end == .exited(0) else { throw TestFailure("\(name): \(output)") }
    }

    /// Kills the daemon.
    public func lose() {
        for name in ["pid", "backend-pid"] {
            let text = Files.text("\(path)/\(name)")
            guard let pid = pid_t(text.prefix { $0.isNumber }) else { continue }
            kill(pid, SIGKILL)
            Files.remove("\(path)/\(name)")
        }
    }

    /// What the daemon logged.
    public var log: String { Files.text("\(path)/log") }
}
