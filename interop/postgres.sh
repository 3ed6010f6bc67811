# Sourced by the `run` of a client of PostgreSQL: starts a server and the proxy before it, with rules for
# the tables of postgres-schema.sql, or those of the file $rules. $port is the proxy's, $server_port the
# server's own; both are stopped at the end. `steps COMMAND...` takes a driver through what each must do, see
# README.md. `nothing_readable` looks in the server's files for the words in $canaries; every value of a
# protected column in `steps` holds one. $logged is a word that the server's log must have, $log_statement
# how much it logs; $max_finish_rows is as in the proxy's configuration. The file
# $scratch is removed in the end, too.
set -euo pipefail

program=${STRONGROOM_PROGRAM:?path of the program}
here=$(cd "$(dirname "$0")" && pwd)
interop=$(dirname "$here")
name=$(basename "$here")
canary=canary-59d2-in-plain-text
canaries=("${canaries[@]:-$canary}")
logged=${logged:-person}
log_statement=${log_statement:-all}
max_finish_rows=${max_finish_rows:-100000}

folder=$(mktemp -d)
chmod 755 "$folder"
pids=()
stop() {
    local pid
    for pid in "${pids[@]}"; do
        kill -INT "$pid" 2>/dev/null || true
    done
    for pid in "${pids[@]}"; do
        wait "$pid" 2>/dev/null || true
    done
    rm -rf "$folder" ${scratch:+"$scratch"}
}
trap stop EXIT
unset "${!PG@}"

fail() {
    echo "$name: $*" >&2
    exit 1
}

# The folder of PostgreSQL's programs, as the tests find it.
server_programs() {
    local folder
    for folder in "${STRONGROOM_TEST_POSTGRES:-}" $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -Vr) \
        ${PATH//:/ }; do
        if [[ -x $folder/postgres && -x $folder/initdb && -x $folder/psql ]]; then
            echo "$folder"
            return
        fi
    done
    fail "PostgreSQL's server is missing: install it, or set STRONGROOM_TEST_POSTGRES"
}
programs=$(server_programs)

# PostgreSQL refuses to run as root.
as_user=()
if [[ $(id -u) == 0 ]]; then
    as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
fi

# starts PORT COMMAND...: runs it in the background until somebody can connect to the port.
starts() {
    local at=$1 log=$folder/start.log
    shift
    "$@" >>"$log" 2>&1 </dev/null &
    local pid=$!
    for _ in $(seq 600); do
        kill -0 "$pid" 2>/dev/null || return 1
        if "$programs/psql" -XAtq "host=127.0.0.1 port=$at user=postgres dbname=postgres" -c "" \
            >/dev/null 2>&1; then
            pids+=("$pid")
            return
        fi
        sleep 0.1
    done
    kill "$pid" 2>/dev/null || true
    return 1
}

start_server() {
    local data=$folder/server/data
    mkdir "$folder/server"
    [[ ${#as_user[@]} == 0 ]] || chown 65534:65534 "$folder/server"
    (cd / && "${as_user[@]}" "$programs/initdb" --username=postgres --auth=trust --no-sync \
        --encoding=UTF8 --locale=C --pgdata "$data" >"$folder/initdb.log" 2>&1) ||
        fail "initdb: $(cat "$folder/initdb.log")"
    for _ in 1 2 3 4 5; do
        server_port=$((20000 + RANDOM))
        if starts "$server_port" env --chdir=/ "${as_user[@]}" "$programs/postgres" -D "$data" \
            -c listen_addresses=127.0.0.1 -c "port=$server_port" -c unix_socket_directories= \
            -c fsync=off -c "log_statement=$log_statement" -c timezone=UTC; then
            return
        fi
    done
    fail "PostgreSQL does not start: $(cat "$folder/start.log")"
}

# start_proxy RULES: a file of rules, as sections [columns.TABLE].
start_proxy() {
    "$program" columns create-key "$folder/columns.key" >/dev/null
    for _ in 1 2 3 4 5; do
        port=$((20000 + RANDOM))
        {
            printf '[proxy]\nlisten = "127.0.0.1:%s"\nupstream = "127.0.0.1:%s"\ndrain_seconds = 0\n' \
                "$port" "$server_port"
            printf 'max_finish_rows = %s\n' "$max_finish_rows"
            printf '[keys]\nfile = "columns.key"\n'
            cat "$1"
        } >"$folder/strongroom.toml"
        if starts "$port" "$program" proxy --config "$folder/strongroom.toml"; then
            return
        fi
    done
    fail "the proxy does not start: $(cat "$folder/start.log")"
}

# by_proxy ARGUMENTS...: psql through the proxy; direct ARGUMENTS...: past it.
by_proxy() {
    "$programs/psql" -XAtq -v ON_ERROR_STOP=1 "host=127.0.0.1 port=$port user=postgres dbname=postgres" "$@"
}
direct() {
    "$programs/psql" -XAtq -v ON_ERROR_STOP=1 \
        "host=127.0.0.1 port=$server_port user=postgres dbname=postgres" "$@"
}

# expect WHAT WANTED GOT
expect() {
    [[ $2 == "$3" ]] || fail "$1: expected '$2', got '$3'"
}

# nothing_readable: no file of the server shows a protected value, and the proxy's log does not.
nothing_readable() {
    direct -c CHECKPOINT
    grep -qaF "$logged" "$folder/start.log" || fail "the server has logged nothing: nothing was looked at"
    local word found
    for word in "${canaries[@]}"; do
        found=$(grep -rlaF "$word" "$folder/server" "$folder/start.log" || true)
        [[ -z $found ]] || fail "plaintext is in $found"
    done
}

start_server
start_proxy "${rules:-$interop/postgres-rules.toml}"
export STRONGROOM_URL=postgres://postgres@127.0.0.1:$port/postgres
export STRONGROOM_SCHEMA=$interop/postgres-schema.sql

# steps COMMAND...: see README.md.
steps() {
    local answer
    while IFS= read -r statement; do
        by_proxy -c "$statement" || fail "schema"
    done <"$STRONGROOM_SCHEMA"
    "$@" write <"$interop/postgres-rows.txt" || fail "write"
    answer=$("$@" read) || fail "read"
    diff "$interop/postgres-rows.txt" <(printf '%s\n' "$answer") >&2 || fail "rows differ (see above)"
    answer=$(by_proxy -F ' ' -c "SELECT id, born, salary, score, photo, name FROM person" | sort -n) ||
        fail "read by psql"
    expect "rows, read by psql" 3 "$(wc -l <<<"$answer")"
    answer=$(direct -c "SELECT DISTINCT pg_typeof(id), pg_typeof(name), pg_typeof(salary) FROM person")
    expect "types in the server" "bytea|bytea|bytea" "$answer"
    "$@" more || fail "more"
    nothing_readable
}
