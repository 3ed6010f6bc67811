# Sourced by what starts a server and the proxy before it. $folder has their files; the processes in $pids are
# ended by $stop_signal at the end, when the folder and the file $scratch are removed. $name is the client's.
program=${STRONGROOM_PROGRAM:?path of the program}
here=$(cd "$(dirname "$0")" && pwd)
name=$(basename "$here")

folder=$(mktemp -d)
chmod 755 "$folder"
pids=()
stop_signal=INT
stop() {
    local pid
    for pid in "${pids[@]}"; do
        kill "-$stop_signal" "$pid" 2>/dev/null || true
    done
    for pid in "${pids[@]}"; do
        wait "$pid" 2>/dev/null || true
    done
    rm -rf "$folder" ${scratch:+"$scratch"}
}
trap stop EXIT

# fail WHY...: prints the end of the logs of server and proxy, and fails.
fail() {
    echo "$name: $*" >&2
    if [[ -s $folder/start.log ]]; then
        echo "$name: logged last:" >&2
        tail -n 20 "$folder/start.log" | cut -c 1-400 >&2
    fi
    exit 1
}

# finisher_section: of the proxy's configuration, if $finisher names the engine of a finisher.
finisher_section() {
    [[ -n ${finisher:-} ]] || return 0
    printf '[finish]\nengine = "%s"\n' "$finisher"
    # A database server does not run as root.
    [[ $(id -u) != 0 ]] || printf 'run_as = "nobody"\n'
}

# hexadecimal TEXT
hexadecimal() {
    printf %s "$1" | od -An -v -tx1 | tr -d ' \n'
}

# no_canary: neither a file of the server nor the log of the proxy has one of ${canaries[@]}, as text or in digits.
no_canary() {
    local word hex found words=()
    for word in "${canaries[@]}"; do
        hex=$(hexadecimal "$word")
        words+=(-e "$word" -e "$hex" -e "${hex^^}")
    done
    found=$(LC_ALL=C grep -rlaF "${words[@]}" "$folder/server" "$folder/start.log" || true)
    [[ -z $found ]] || fail "plaintext is in $found"
}
