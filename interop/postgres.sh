# Sourced by the `run` of a client of PostgreSQL: starts a server and the proxy before it, with rules for
# the tables of postgres-schema.sql, or those of the file $rules. $port is the proxy's, $server_port the
# server's own; both are stopped at the end. `steps COMMAND...` takes a driver through what each must do, see
# README.md. With $with_logins the proxy speaks TLS and SCRAM with both sides for the user `ann`, for whom
# `as_ann` is, and `steps` looks into logins. `nothing_readable` looks in the server's files for the words in
# $canaries, as they are and in hexadecimal; every row of protected columns in `steps` holds one. $logged is a
# word that the server's log must have, $log_statement how much it logs; $max_finish_rows is as in the proxy's
# configuration. The file $scratch is removed in the end, too. With $library_serves the driver is served by
# libstrongroom_client in its own process. $proxy_settings are more lines of [proxy]. $finisher is the engine of the
# proxy's finisher, if it has one.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/started.sh"
interop=$(dirname "$here")
canary=canary-59d2-in-plain-text
[[ -v canaries ]] || canaries=("$canary" 9007199254740993 1990-02-28)
logged=${logged:-person}
log_statement=${log_statement:-all}
max_finish_rows=${max_finish_rows:-100000}
with_logins=${with_logins:-}
# Ann's password, plain and as it is encoded in a URL.
password='p@ss/59d2 word'
password_in_url=p%40ss%2F59d2%20word

unset "${!PG@}"

# The folder of PostgreSQL's programs, found as in the tests.
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

# starts PORT COMMAND...: runs it in the background and waits until the port accepts connections.
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

# make_certificate NAME: NAME.crt, a self-signed certificate for localhost, and NAME.key.
make_certificate() {
    cat >"$folder/certificate.cnf" <<'CONFIGURATION'
[req]
prompt = no
distinguished_name = subject
x509_extensions = extensions
[subject]
commonName = localhost
[extensions]
basicConstraints = CA:FALSE
subjectAltName = DNS:localhost
CONFIGURATION
    openssl req -x509 -config "$folder/certificate.cnf" -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
        -days 2 -keyout "$folder/$1.key" -out "$folder/$1.crt" 2>"$folder/openssl.log" ||
        fail "openssl: $(cat "$folder/openssl.log")"
}

# Whether the server is built with TLS; only one that was chosen for the test may be without.
server_has_tls() {
    grep -qaF "SSL is not supported by this build" "$programs/postgres" || return 0
    [[ -n ${STRONGROOM_TEST_POSTGRES:-} ]] || fail "PostgreSQL's server is built without TLS"
    return 1
}

# prepare_logins DATA: the server asks ann for her password, over TLS only if it can. Sets $ssl for
# its command line, and $server_tls for what it then reports of her connections.
prepare_logins() {
    local by=host file
    server_tls=f
    make_certificate proxy
    make_certificate server
    make_certificate another
    if server_has_tls; then
        by=hostssl
        server_tls=t
        for file in server.crt server.key; do
            cp "$folder/$file" "$folder/server/$file"
            chmod 600 "$folder/server/$file"
            [[ ${#as_user[@]} == 0 ]] || chown 65534:65534 "$folder/server/$file"
        done
        ssl=(-c ssl=on -c "ssl_cert_file=$folder/server/server.crt" -c "ssl_key_file=$folder/server/server.key")
    fi
    printf 'host all postgres 127.0.0.1/32 trust\n%s all ann 127.0.0.1/32 scram-sha-256\n' "$by" \
        >"$1/pg_hba.conf"
}

# make_ann: creates the user, who is not a superuser but has the rights of the tables' owner, and
# the file of logins.
make_ann() {
    canaries+=("$password")
    direct <<SQL || fail "ann"
SET log_statement TO none;
SET password_encryption TO 'scram-sha-256';
CREATE ROLE ann LOGIN PASSWORD '$password' IN ROLE postgres;
SQL
    (umask 077 && direct -F $'\t' -c "SELECT rolname, rolpassword FROM pg_authid WHERE rolname = 'ann'" \
        >"$folder/logins.tsv")
    grep -q '^ann.SCRAM-SHA-256\$' "$folder/logins.tsv" || fail "ann has no verifier"
}

start_server() {
    local data=$folder/server/data ssl=()
    mkdir "$folder/server"
    [[ ${#as_user[@]} == 0 ]] || chown 65534:65534 "$folder/server"
    (cd / && "${as_user[@]}" "$programs/initdb" --username=postgres --auth=trust --no-sync \
        --encoding=UTF8 --locale=C --pgdata "$data" >"$folder/initdb.log" 2>&1) ||
        fail "initdb: $(cat "$folder/initdb.log")"
    [[ -z $with_logins ]] || prepare_logins "$data"
    for _ in 1 2 3 4 5; do
        server_port=$((20000 + RANDOM))
        if starts "$server_port" env --chdir=/ "${as_user[@]}" "$programs/postgres" -D "$data" \
            -c listen_addresses=127.0.0.1 -c "port=$server_port" -c unix_socket_directories= \
            -c fsync=off -c "log_statement=$log_statement" -c timezone=UTC "${ssl[@]}"; then
            [[ -z $with_logins ]] || make_ann
            return
        fi
    done
    fail "PostgreSQL does not start: $(cat "$folder/start.log")"
}

# start_proxy RULES: a file of rules, with sections [columns.TABLE].
start_proxy() {
    "$program" columns create-key "$folder/columns.key" >/dev/null
    for _ in 1 2 3 4 5; do
        port=$((20000 + RANDOM))
        {
            printf '[proxy]\nlisten = "127.0.0.1:%s"\nupstream = "127.0.0.1:%s"\ndrain_seconds = 0\n' \
                "$port" "$server_port"
            printf 'max_finish_rows = %s\n%s\n' "$max_finish_rows" "${proxy_settings:-}"
            if [[ -n $with_logins ]]; then
                printf 'logins = "logins.tsv"\n'
                printf 'client_tls = { certificate = "proxy.crt", key = "proxy.key" }\n'
                [[ $server_tls == f ]] ||
                    printf 'server_tls = { root = "server.crt", name = "localhost" }\n'
            fi
            printf '[keys]\nfile = "columns.key"\n'
            finisher_section
            cat "$1"
        } >"$folder/strongroom.toml"
        if starts "$port" "$program" proxy --config "$folder/strongroom.toml"; then
            return
        fi
    done
    fail "the proxy does not start: $(cat "$folder/start.log")"
}

# by_proxy ARGUMENTS...: psql through the proxy; direct ARGUMENTS...: without it.
by_proxy() {
    "$programs/psql" -XAtq -v ON_ERROR_STOP=1 "host=127.0.0.1 port=$port user=postgres dbname=postgres" "$@"
}
direct() {
    "$programs/psql" -XAtq -v ON_ERROR_STOP=1 \
        "host=127.0.0.1 port=$server_port user=postgres dbname=postgres" "$@"
}

# as_ann COMMAND...: with the URLs with which ann logs in, and the driver verifies the proxy's
# certificate. $host, $secret (encoded for a URL) and $root override parts of them.
as_ann() {
    local at=${host:-localhost}:$port/postgres secret=${secret:-$password_in_url}
    local verified="sslmode=verify-full&sslrootcert=$folder/${root:-proxy}.crt"
    STRONGROOM_URL="postgres://ann:$secret@$at?$verified" \
        STRONGROOM_JDBC_URL="jdbc:postgresql://$at?user=ann&password=$secret&$verified" "$@"
}

# expect WHAT WANTED GOT
expect() {
    [[ $2 == "$3" ]] || fail "$1: expected '$2', got '$3'"
}

# nothing_readable: no file of the server contains a protected value, and neither does the proxy's
# log.
nothing_readable() {
    direct -c CHECKPOINT
    grep -qaF "$logged" "$folder/start.log" || fail "the server has logged nothing: nothing was looked at"
    no_canary
}

start_server
start_proxy "${rules:-$interop/postgres-rules.toml}"
export STRONGROOM_URL=postgres://postgres@127.0.0.1:$port/postgres
export STRONGROOM_JDBC_URL="jdbc:postgresql://127.0.0.1:$port/postgres?user=postgres"
export STRONGROOM_SCHEMA=$interop/postgres-schema.sql

# logins COMMAND...: ann logs in, and is refused where she must be.
logins() {
    local answer
    expect "login" "ann $server_tls" "$(as_ann "$@" login)"
    # The library's socket stays in the process, and has no certificate.
    [[ -n ${library_serves:-} ]] ||
        expect "login, bound to the channel" "ann $server_tls" "$(as_ann "$@" login bound)"
    answer=$(secret=another as_ann "$@" login)
    grep -qE '28P01|password authentication failed for user "ann"' <<<"$answer" ||
        fail "a wrong password: $answer"
    [[ -z ${library_serves:-} ]] || return 0
    # None of these errors comes from the server: the driver stops before.
    answer=$(root=another as_ann "$@" login)
    grep -qiE 'certificate|certification|CertPath' <<<"$answer" || fail "another certificate: $answer"
    answer=$(host=127.0.0.1 as_ann "$@" login)
    grep -qiE 'certificate|hostname' <<<"$answer" || fail "another name: $answer"
}

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
    logins "$@"
    as_ann "$@" more || fail "more"
    nothing_readable
}
