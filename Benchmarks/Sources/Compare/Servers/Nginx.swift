import Comparison
import Glibc
import LoadGenerator

/// nginx, with one worker, `sendfile` and its files held open.
enum Nginx {
    static func start(in place: Place) throws -> Contender {
        let socket = place.path("nginx.sock")
        let configuration = place.path("nginx.conf")
        for folder in ["nginx", "nginx/files"] { try Files.makeFolder(place.path(folder)) }
        try Files.write(text(place, socket), to: configuration)
        let process = try place.start(
            "nginx", ["nginx", "-p", place.path("nginx"), "-c", configuration])
        return try Contender(
            .nginx, process,
            dialect: HTTPDialect(name: "nginx", fetchPath: HTTPDialect.PathTemplate("/")),
            socketPath: socket,
            version: Shell.output("nginx -v 2>&1 | sed 's:.*/::'"), request: "GET /ID HTTP/1.1",
            hiding: place.folder)
    }

    /// Its descriptors of 10,000 files stay open, so that a request costs no `open` or `stat`.
    private static func text(_ place: Place, _ socket: String) -> String {
        """
        user root;
        daemon off;
        worker_processes 1;
        worker_rlimit_nofile 65536;
        pid nginx.pid;
        error_log error.log crit;
        events { worker_connections 4096; multi_accept on; }
        http {
            access_log off;
            sendfile on;
            tcp_nopush off;
            open_file_cache max=10000 inactive=1h;
            open_file_cache_valid 1h;
            keepalive_requests 2000000000;
            keepalive_timeout 1h;
            server_tokens off;
            default_type application/octet-stream;
            client_body_temp_path body;
            proxy_temp_path proxy;
            fastcgi_temp_path fastcgi;
            uwsgi_temp_path uwsgi;
            scgi_temp_path scgi;
            server {
                listen unix:\(socket) backlog=1024;
                root \(place.path("nginx/files"));
            }
        }

        """
    }

    /// Writes the files, as the operator of nginx would have to.
    static func store(_ payloads: LoadPayloads, in place: Place) throws {
        for index in 0..<payloads.count {
            let path = place.path("nginx/files/\(payloads.item(index).id)")
            try Files.write(payloads.bytes(index), to: path)
        }
    }
}

/// Small files.
enum Files {
    static func makeFolder(_ path: String) throws {
        guard mkdir(path, 0o755) == 0 || errno == EEXIST else { throw failure(path) }
    }

    static func write(_ text: String, to path: String) throws {
        try write(Array(text.utf8).span.bytes, to: path)
    }

    static func write(_ bytes: RawSpan, to path: String) throws {
        guard let file = fopen(path, "we") else { throw failure(path) }
        let written = bytes.withUnsafeBytes { fwrite($0.baseAddress, 1, $0.count, file) }
        guard fclose(file) == 0, written == bytes.byteCount else { throw failure(path) }
    }

    private static func failure(_ path: String) -> CompareFailure {
        CompareFailure("cannot write \(path): \(String(cString: strerror(errno)))")
    }
}
