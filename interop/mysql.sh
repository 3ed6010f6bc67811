# Sourced by the `run` of a client of MariaDB: starts a server and the proxy before it, without rules, or with
# those of the file $rules. $port is the proxy's, $server_port the server's own; both are stopped at the end.
# $finisher is the engine of the proxy's finisher, if it has one. $proxy_settings are more lines of [proxy],
# $server_settings more arguments of the server. The user `ann` has the password $password. `mariadb_at PORT
# ARGUMENTS...` runs the server's own client; skips where there is no MariaDB.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/started.sh"
# MariaDB leaves the other signal to debuggers.
stop_signal=TERM
password='p@ss/59d2 word'
[[ -v server_settings ]] || server_settings=()

for needed in mariadb mariadb-dump mariadb-install-db; do
    if ! command -v "$needed" >/dev/null; then
        echo "$name: $needed is missing (Debian: mariadb-server-core, mariadb-client-core)" >&2
        exit 77
    fi
done
server=$(command -v mariadbd || echo /usr/sbin/mariadbd)

# expect WHAT WANTED FOUND
expect() {
    [[ $2 == "$3" ]] || fail "$1: wanted '${2:0:2000}', found '${3:0:2000}'"
}

# mariadb_at PORT ARGUMENTS...
mariadb_at() {
    local at=$1
    shift
    MYSQL_PWD=$password mariadb --no-defaults --protocol=tcp --host=127.0.0.1 --port="$at" --user=ann \
        --default-character-set=utf8mb4 "$@"
}

# starts PORT COMMAND...: runs it in the background and waits until a client is let in.
starts() {
    local at=$1
    shift
    "$@" >>"$folder/start.log" 2>&1 </dev/null &
    local pid=$!
    for _ in $(seq 600); do
        kill -0 "$pid" 2>/dev/null || return 1
        if mariadb_at "$at" -e "DO 0" >/dev/null 2>&1; then
            pids+=("$pid")
            return
        fi
        sleep 0.1
    done
    kill "$pid" 2>/dev/null || true
    return 1
}

start_server() {
    local as_user=() data=$folder/server/data
    # A server removes the temporary tables that it finds, also those of another one.
    mkdir "$folder/server" "$folder/server/temporary"
    if [[ $(id -u) == 0 ]]; then
        as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
        chown 65534:65534 "$folder/server" "$folder/server/temporary"
    fi
    (cd / && "${as_user[@]}" mariadb-install-db --no-defaults --datadir="$data" --skip-test-db \
        --innodb-log-file-size=8M >"$folder/install.log" 2>&1) || fail "$(cat "$folder/install.log")"
    cat >"$folder/first.sql" <<SQL
CREATE DATABASE shop;
CREATE USER ann@localhost IDENTIFIED BY '$password';
GRANT ALL ON *.* TO ann@localhost;
SQL
    chmod 644 "$folder/first.sql"
    for _ in 1 2 3 4 5; do
        server_port=$((20000 + RANDOM))
        if starts "$server_port" env --chdir=/ "${as_user[@]}" "$server" --no-defaults --datadir="$data" \
            --port="$server_port" --bind-address=127.0.0.1 --socket="$folder/server/sock" \
            --pid-file="$folder/server/pid" --tmpdir="$folder/server/temporary" \
            --init-file="$folder/first.sql" --character-set-server=utf8mb4 \
            --innodb-log-file-size=8M --innodb-flush-log-at-trx-commit=0 \
            --general-log --general-log-file="$folder/server/general.log" --log-bin="$folder/server/binary" \
            "${server_settings[@]}"; then
            return
        fi
    done
    fail "MariaDB does not start"
}

start_proxy() {
    [[ -z ${rules:-} ]] || "$program" columns create-key "$folder/columns.key" >/dev/null
    for _ in 1 2 3 4 5; do
        port=$((20000 + RANDOM))
        printf '[proxy]\nprotocol = "mysql"\nlisten = "127.0.0.1:%s"\nupstream = "127.0.0.1:%s"\n%s\n' \
            "$port" "$server_port" "drain_seconds = 0"$'\n'"${proxy_settings:-}" >"$folder/strongroom.toml"
        if [[ -n ${rules:-} ]]; then
            {
                printf '[keys]\nfile = "columns.key"\n'
                finisher_section
                cat "$rules"
            } >>"$folder/strongroom.toml"
        fi
        if starts "$port" "$program" proxy --config "$folder/strongroom.toml"; then
            return
        fi
    done
    fail "the proxy does not start"
}

start_server
start_proxy
