# Two hosts and a bucket's, as network namespaces of this machine. To be sourced, after lib.sh.
#
# A host reaches the bucket's, and nothing else. Files, and with them Unix sockets, are those of the machine.

bucket_host="blobd-demo-$$-bucket" host_a="blobd-demo-$$-a" host_b="blobd-demo-$$-b"

# Makes them, and sets what the caller uses: on_a, on_b and on_bucket, which stand before a command; has_namespaces; the
# address and port for the bucket's server. Where they cannot be made, all are on loopback: make_hosts FILE, for errors
make_hosts() {
    local status=0
    # In a shell of its own: there a failure ends it, which a condition would keep it from.
    (make_namespaces) 2>"$1" || status=$?
    if [ $status -eq 0 ]; then
        on_bucket=(ip netns exec "$bucket_host") on_a=(ip netns exec "$host_a") on_b=(ip netns exec "$host_b")
        has_namespaces=true address=198.18.0.1 port=9000
        return
    fi
    remove_hosts
    say "No network namespaces here ($(head -n 1 "$1")): they need root with CAP_NET_ADMIN and CAP_SYS_ADMIN."
    say "Both hosts are on loopback, and nothing is cut off."
    on_bucket=(env) on_a=(env) on_b=(env)
    has_namespaces=false address=127.0.0.1 port="$(free_port)"
}

make_namespaces() {
    set -e
    ip netns add "$bucket_host"
    ip -n "$bucket_host" link set lo up
    # 198.18.0.0/15 is for tests of networks (RFC 2544). None of it is in the namespace of the machine.
    ip -n "$bucket_host" address add 198.18.0.1/32 dev lo
    join "$host_a" to-a 1
    join "$host_b" to-b 2
    ip netns exec "$bucket_host" true
}

# join HOST LINK NUMBER: a cable between a host and the bucket's.
join() {
    ip netns add "$1"
    ip -n "$1" link set lo up
    ip -n "$bucket_host" link add "$2" type veth peer name eth0 netns "$1"
    ip -n "$bucket_host" address add "198.18.$3.1/30" dev "$2"
    ip -n "$bucket_host" link set "$2" up
    ip -n "$1" address add "198.18.$3.2/30" dev eth0
    ip -n "$1" link set eth0 up
    ip -n "$1" route add 198.18.0.1/32 via "198.18.$3.1"
}

remove_hosts() {
    local host
    for host in "$bucket_host" "$host_a" "$host_b"; do
        if [ -e "/run/netns/$host" ]; then ip netns delete "$host" || true; fi
    done
}

# The cable of a or b.
cut_off() { ip -n "$bucket_host" link set "to-$1" down; }

connect() { ip -n "$bucket_host" link set "to-$1" up; }

is_connected() {
    local name="host_$1"
    ip -n "${!name}" link show eth0 | grep -q 'state UP'
}

# A port that is free with the next one, which Ceph's monitor takes.
free_port() {
    local port
    while port=$((10000 + RANDOM % 20000)); do
        if ! (: <"/dev/tcp/127.0.0.1/$port" || : <"/dev/tcp/127.0.0.1/$((port + 1))") 2>/dev/null; then break; fi
    done
    echo "$port"
}
