# Sourced by the `run` of a client of MariaDB that meets protected columns: starts a server, and a proxy with the
# rules of the file $rules, or of mysql-rules.toml. The tables are those of the file $schema, or of mysql-schema.sql.
# $logged is what the server's log of statements must have. The client does the same through the proxy and at the
# server, in a database `shop` of its own each time, and must give the same answers. An answer is a line: a name that
# no other has, a tab, and JSON.
#
# The file `differences` has a line `CLIENT NAME | REASON` for each answer that must differ. A client fails if another one
# does, or if one of these does not.

interop=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rules=${rules:-$interop/mysql-rules.toml}
schema=${schema:-$interop/mysql-schema.sql}
logged=${logged:-'INTO .*person'}
source "$interop/mysql.sh"
[[ -v canaries ]] || canaries=(canary-59d2-in-plain-text 9007199254740993 1990-02-28)
export STRONGROOM_HOST=127.0.0.1 STRONGROOM_USER=ann STRONGROOM_PASSWORD=$password STRONGROOM_DATABASE=shop
export TZ=UTC

# listed NAME: the answers that must differ.
listed() {
    [[ ! -f $here/differences ]] || sed -n "s/^$1 \(.*\) | .*/\1/p" "$here/differences" | sort
}

# nothing_readable: no file of the server has a protected value: its tables, its logs of statements, its binary log,
# redo and undo.
nothing_readable() {
    grep -qaE "$logged" "$folder/server/general.log" ||
        fail "the server has logged nothing: nothing was looked at"
    mariadb_at "$server_port" -e "FLUSH BINARY LOGS; FLUSH TABLES"
    no_canary
}

# ask NAME PORT COMMAND...: keeps its answers in a file. The tables are made anew.
ask() {
    local kept=$folder/$1
    mariadb_at "$2" -e "DROP DATABASE IF EXISTS shop; CREATE DATABASE shop" || fail "no database"
    mariadb_at "$2" shop <"$schema" || fail "the schema does not pass"
    STRONGROOM_PORT=$2 "${@:3}" >"$kept" 2>"$kept.errors" ||
        fail "at the $1: $(tail -n 3 "$kept" | cut -c 1-400) $(tail -n 40 "$kept.errors")"
}

# through_proxy NAME COMMAND...: the client's answers through the proxy.
through_proxy() {
    ask "$1.proxy" "$port" "${@:2}"
}

# as_twin NAME COMMAND...: the answers of the server, and what differs. From here on the server has the values in clear.
as_twin() {
    local twice
    ask "$1.server" "$server_port" "${@:2}"
    twice=$(cut -f 1 "$folder/$1.server" | sort | uniq -d)
    [[ -z $twice ]] || fail "$1: answers of one name: $twice"
    [[ $(wc -l <"$folder/$1.server") -ge 15 ]] || fail "$1 has asked too little"
    grep -q "${canaries[0]}" "$folder/$1.server" || fail "$1 has not written what is looked for"
    comm -3 <(sort "$folder/$1.server") <(sort "$folder/$1.proxy") | sed 's/^\t//' | cut -f 1 | sort -u \
        >"$folder/differ"
    if ! diff <(listed "$1") "$folder/differ" >&2; then
        diff "$folder/$1.server" "$folder/$1.proxy" | cut -c 1-${STRONGROOM_WIDTH:-1000} >&2 || true
        fail "$1: other answers differ than those in \`differences\` (see above)"
    fi
}
