import LoadGenerator

/// memcached, with one thread and room for everything.
enum Memcached {
    static func start(in place: Place) throws -> Contender {
        let socket = place.path("memcached.sock")
        // -R: requests a connection may have answered in one sample; the usual 20 would cut pipelines.
        let process = try place.start(
            "memcached",
            [
                "memcached", "-t", "1", "-U", "0", "-m", "4096", "-I", "8m", "-c", "2048", "-R",
                "256", "-u", "root", "-s", socket,
            ])
        return try Contender(
            .memcached, process, dialect: MemcachedDialect(), socketPath: socket,
            version: Shell.output("memcached -V | cut -d' ' -f2"), request: "mg ID v",
            hiding: place.folder)
    }
}

/// redis, without persistence for fetches, with a log synced before each answer for publishes.
enum Redis {
    static func start(in place: Place, isDurable: Bool) throws -> Contender {
        let name = isDurable ? "redis-durable" : "redis"
        let socket = place.path("\(name).sock")
        let folder = place.path(name)
        try Files.makeFolder(folder)
        // The log is rewritten when it has doubled, as redis does by itself.
        let persistence =
            isDurable
            ? ["--appendonly", "yes", "--appendfsync", "always"] : ["--appendonly", "no"]
        let process = try place.start(
            name,
            ["redis-server", "--port", "0", "--unixsocket", socket, "--dir", folder, "--save", ""]
                + persistence)
        let redis = try Contender(
            .redis, process, dialect: RedisDialect(), socketPath: socket,
            version: Shell.output("redis-server -v | sed 's/.*v=\\([^ ]*\\).*/\\1/'"),
            request: "GET ID", hiding: place.folder)
        // It listens before it has read its log.
        _ = Shell.output(
            "timeout 60 sh -c 'until redis-cli -s \(socket) ping | grep -q PONG; do sleep 0.1; done'"
        )
        return redis
    }
}

/// varnish, with everything in memory, in front of nginx.
enum Varnish {
    static func start(in place: Place, before nginx: Contender) throws -> Contender {
        let socket = place.path("varnish.sock")
        let configuration = place.path("varnish.vcl")
        try Files.write(
            """
            vcl 4.1;
            backend files { .path = "\(nginx.socketPath)"; }
            sub vcl_recv { return (hash); }
            sub vcl_backend_response { set beresp.ttl = 1d; set beresp.grace = 1d; }

            """, to: configuration)
        let process = try place.start(
            "varnish",
            [
                "varnishd", "-F", "-n", place.path("varnish"), "-j", "none", "-a",
                "unix=\(socket),mode=0666", "-f", configuration, "-s", "malloc,4g", "-p",
                "thread_pools=1", "-p", "thread_pool_min=50", "-p", "thread_pool_max=200", "-p",
                "timeout_idle=3600",
            ])
        return try Contender(
            .varnish, process,
            dialect: HTTPDialect(name: "varnish", fetchPath: { "/" + $0 }),
            socketPath: socket,
            version: Shell.output(
                "varnishd -V 2>&1 | sed -n 's/.*varnish-\\([0-9.]*\\).*/\\1/p' | head -1"),
            request: "GET /ID HTTP/1.1", hiding: place.folder)
    }
}

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
            dialect: HTTPDialect(name: "nginx", fetchPath: { "/" + $0 }),
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
