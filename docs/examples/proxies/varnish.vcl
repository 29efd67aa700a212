# Devices that fetch by id, through Varnish. Start it with -p http_gzip_support=off, to forward Accept-Encoding unchanged.
vcl 4.1;

backend blobd {
    .path = "/run/blobd/blobd.sock";
}

sub vcl_recv {
    # Only GET and HEAD.
    if (req.method != "GET" && req.method != "HEAD") {
        return (synth(403));
    }
    # One segment after /api/notifications/, as received.
    if (req.url !~ {"^/api/notifications/([\w.~!$&\x27()*+,;=:@-]|%[0-9A-Fa-f]{2})+(\?|$)"}) {
        return (synth(404));
    }
    # Never in an id: control characters, an encoded "." or "/", invalid UTF-8.
    if (req.url ~ {"^[^?]*%(?i:[01]|7f|2[ef]|c[01]|c2%[89]|e0%[89]|ed%[ab]|f0%8|f4%9|f[5-9a-f])"} ||
        req.url ~ {"^/api/notifications/\.\.?(\?|$)"}) {
        return (synth(404));
    }
    set req.http.Host = "blobd";
    # Not cached, so that an expired payload is never served.
    return (pass);
}
