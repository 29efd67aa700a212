# What the scripts share. To be sourced, from a script that has `set -euo pipefail`.

# The folder of the package, whatever the current one is.
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

# Words about the progress go to standard error; standard output is for results.
say() { printf '%s\n' "$*" >&2; }

die() {
    say "$*"
    exit 1
}

# For -h and --help: prints the comment at the script's top, and ends.
help_above() {
    case "${1:-}" in
        -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit 0 ;;
    esac
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "This needs root and there is no sudo here. Run as root: $*"
    fi
}

# Prints the Debian packages whose test fails. Each argument is 'package:test command'.
missing() {
    local entry
    for entry in "$@"; do
        eval "${entry#*:}" >/dev/null 2>&1 || printf '%s\n' "${entry%%:*}"
    done
}

# Installs those. Where that fails, it says which, and ends.
#
# Says what it will install before it does. With sudo, on a terminal, it asks first; without a terminal, and as root, it
# does not: nobody is there to answer, and root has answered already.
install_missing() {
    local missing
    readarray -t missing < <(missing "$@")
    [ "${#missing[@]}" -gt 0 ] || return 0
    command -v apt-get >/dev/null ||
        die "Missing: ${missing[*]}. Install what your system has for these Debian packages."
    say "Missing Debian packages, to be installed with apt-get: ${missing[*]}"
    may_use_sudo "apt-get install ${missing[*]}" ||
        die "Nothing was installed. Run this first: sudo apt-get install ${missing[*]}"
    say "Installing ${missing[*]} …"
    as_root apt-get update -qq >&2 || die "apt-get update failed; missing are: ${missing[*]}"
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2 ||
        die "apt-get could not install what is missing: ${missing[*]}"
}

# Whether a command may be run with sudo: yes where there is nobody to ask or sudo is not needed.
may_use_sudo() {
    local answer
    [ "$(id -u)" -ne 0 ] && command -v sudo >/dev/null && [ -t 0 ] && [ -t 2 ] || return 0
    printf 'Run "sudo %s" now? [y/N] ' "$1" >&2
    read -r answer || answer=
    case "$answer" in
        y | Y | yes | Yes) return 0 ;;
        *) return 1 ;;
    esac
}

# Installs what a build needs: the C libraries, and pkg-config to find them.
install_build_needs() {
    command -v swift >/dev/null ||
        die "There is no swift here. Install Swift 6.2 or later: https://www.swift.org/install/linux/"
    # Without pkg-config a header in its usual place is just as good a sign.
    install_missing \
        'pkg-config:command -v pkg-config' \
        'liblmdb-dev:pkg-config --exists lmdb || test -e /usr/include/lmdb.h' \
        'libssl-dev:pkg-config --exists libcrypto || test -e /usr/include/openssl/sha.h' \
        'libcurl4-openssl-dev:pkg-config --exists libcurl || compgen -G "/usr/include/*/curl/curl.h"' \
        'libyaml-dev:pkg-config --exists yaml-0.1 || test -e /usr/include/yaml.h' \
        'zlib1g-dev:pkg-config --exists zlib || test -e /usr/include/zlib.h'
}

# What the suite runs beside the daemon, for install_missing: a C compiler for faults, tracing, other users, small disks,
# Python for the check of the OpenAPI document and for moto, Ceph's gateway (70 MB) as a real object store, fronts.
TEST_NEEDS=(
    'gcc:command -v cc'
    'curl:command -v curl'
    'git:command -v git'
    'jq:command -v jq'
    'strace:command -v strace'
    'util-linux:command -v setpriv && command -v prlimit'
    'bsdutils:command -v script'
    'mount:command -v mount'
    'e2fsprogs:PATH=$PATH:/usr/sbin command -v mkfs.ext2' 'btrfs-progs:PATH=$PATH:/usr/sbin command -v mkfs.btrfs'
    'iproute2:command -v ip'
    'systemd:command -v systemd-analyze'
    'spin:command -v spin'
    'prometheus:command -v promtool && command -v prometheus'
    'python3-venv:python3 -c "import ensurepip, venv"'
    'binutils:command -v readelf' 'openssl:command -v openssl'
    'nginx:PATH=$PATH:/usr/sbin command -v nginx' 'haproxy:PATH=$PATH:/usr/sbin command -v haproxy'
    'libcurl4:ldconfig -p | grep -q libcurl.so.4'
    'ceph-mon:command -v ceph-mon' 'ceph-osd:command -v ceph-osd' 'radosgw:command -v radosgw'
    'ceph-common:command -v ceph && command -v monmaptool && command -v radosgw-admin'
)
# What the examples run in: 300 MB, of which a JDK, Kotlin and a browser are nearly all. Go, which takes 460 MB and
# compiles its library first, is not among them.
EXAMPLE_NEEDS=(
    'nodejs:command -v node'
    'ruby:command -v ruby'
    "php-cli:command -v php" "php-curl:php -r 'exit(function_exists(\"curl_init\") ? 0 : 1);'"
    'default-jdk-headless:command -v javac' 'kotlin:command -v kotlinc'
    'libandroid-json-java:test -e /usr/share/java/com.android.json.jar'
    'chromium:command -v chromium'
)

# Builds blobd in release. Sets BLOBD to the program's path.
build_release() {
    say "Building blobd in release …"
    swift build --package-path "$ROOT" -c release --product blobd >&2
    BLOBD="$(swift build --package-path "$ROOT" -c release --show-bin-path)/blobd"
}

# Builds the load generator in release. Sets LOAD to the program's path. See Benchmarks/load.
build_load() {
    local build=(swift build --package-path "$ROOT/Benchmarks" -c release)
    say "Building the load generator in release …"
    # Its progress is for a terminal.
    if [ -t 2 ]; then "${build[@]}" --product load >&2; else "${build[@]}" --product load --quiet >&2; fi
    LOAD="$("${build[@]}" --show-bin-path)/load"
}

# Waits until a daemon answers on a socket: wait_for_daemon SOCKET PID LOG. It must answer within 10 s.
wait_for_daemon() {
    local tries
    for tries in $(seq 1 200); do
        if curl -sf --max-time 2 --unix-socket "$1" -o /dev/null http://blobd/readyz; then
            return 0
        fi
        kill -0 "$2" 2>/dev/null || break
        sleep 0.05
    done
    say "The daemon did not get ready. It said:"
    cat "$3" >&2
    exit 1
}

# Installs what a requirements file names from PyPI: install_python NAME FILE. Sets VENV to its folder, .build/NAME-venv.
install_python() {
    VENV="$ROOT/.build/$1-venv"
    cmp -s "$2" "$VENV/installed" && return
    install_missing 'python3-venv:python3 -c "import ensurepip, venv"'
    say "Installing into $VENV: $(paste -sd' ' "$2") …"
    mkdir -p "$ROOT/.build"
    # Two at once would write the same files.
    exec 7>"$VENV.lock"
    flock 7
    if ! cmp -s "$2" "$VENV/installed"; then
        python3 -m venv "$VENV" >&2
        "$VENV/bin/pip" install --quiet --disable-pip-version-check -r "$2" >&2
        cp "$2" "$VENV/installed"
    fi
    exec 7>&-
}
