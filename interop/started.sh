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
