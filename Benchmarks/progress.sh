# How far a script of minutes is. To be sourced after Scripts/lib.sh.

# progress DONE ALL WORDS…: one line on standard error that changes on a terminal, a line each time elsewhere.
# Without arguments it clears the line, so that a result can be printed.
progress() {
    [ ! -t 2 ] || printf '\r\033[K' >&2
    [ $# -gt 0 ] || return 0
    printf '%s of %s %s' "$1" "$2" "${*:3}" >&2
    [ -t 2 ] || say
}
