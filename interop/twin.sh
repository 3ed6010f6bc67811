# Sourced by the `run` of a mapper: starts a server, and a proxy with a finisher and the rules of rules.toml,
# for tables that the mapper creates. The mapper does the same through the proxy and at a twin in clear, and
# must give the same answers. An answer is a line: a name that no other has, a tab, and JSON.
#
# The file `unprotected` has a line `MAPPER.TABLE.COLUMN: REASON` for each column without a rule, and the file
# `differences` one `MAPPER NAME: REASON` for each answer that must differ. A client fails if a column or an
# answer is not listed, and if one is listed that need not be.

here=$(cd "$(dirname "$0")" && pwd)
rules=$here/rules.toml
finisher=postgres
canaries=(canary-59d2-in-plain-text)
logged="CREATE TABLE"
source "$(dirname "${BASH_SOURCE[0]}")/postgres.sh"
export TZ=UTC

# listed FILE PREFIX: the names in a file of this folder, each without its prefix and its reason.
listed() {
    [[ ! -f $here/$1 ]] || sed -n "s/^$2\([^:]*\): .*/\1/p" "$here/$1" | sort
}

# ask MAPPER WHERE PORT DATABASE COMMAND...: keeps its answers in a file.
ask() {
    local mapper=$1 answers=$folder/$1.$2 at=127.0.0.1:$3/$4
    direct -c "CREATE DATABASE $4"
    # In a shell of its own: a command that is a function ends its shell when it fails.
    (
        export STRONGROOM_URL=postgres://postgres@$at STRONGROOM_JDBC_URL="jdbc:postgresql://$at?user=postgres"
        "${@:5}"
    ) >"$answers" 2>"$answers.errors" ||
        fail "$mapper: $(cut -c 1-400 "$answers" | tail -n 3) $(tail -n 40 "$answers.errors")"
}

# through_proxy MAPPER COMMAND...: the mapper's answers through the proxy, in a database of its own.
through_proxy() {
    local mapper=$1
    ask "$mapper" proxy "$port" "$mapper" "${@:2}"
    "$programs/psql" -XAtq "host=127.0.0.1 port=$server_port user=postgres dbname=$mapper" -c "
        SELECT relname || '.' || attname FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
         WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND relname !~ 'migrations'
           AND attnum > 0 AND NOT attisdropped AND atttypid <> 'bytea'::regtype" | sort >"$folder/unprotected"
    diff <(listed unprotected "$mapper\.") "$folder/unprotected" >&2 ||
        fail "other columns of $mapper are not protected than those in \`unprotected\` (see above)"
}

# as_twin MAPPER COMMAND...: the mapper's answers in clear, and what differs. From here on the server has the
# values in clear.
as_twin() {
    local mapper=$1 twice
    ask "$mapper" twin "$server_port" "${mapper}_twin" "${@:2}"
    twice=$(cut -f 1 "$folder/$mapper.twin" | sort | uniq -d)
    [[ -z $twice ]] || fail "$mapper: answers of one name: $twice"
    [[ $(wc -l <"$folder/$mapper.twin") -ge 20 ]] || fail "$mapper has asked too little"
    comm -3 <(sort "$folder/$mapper.twin") <(sort "$folder/$mapper.proxy") | sed 's/^\t//' | cut -f 1 |
        sort -u >"$folder/differ"
    if ! diff <(listed differences "$mapper ") "$folder/differ" >"$folder/unlisted"; then
        diff "$folder/$mapper.twin" "$folder/$mapper.proxy" | cut -c 1-1000 >&2 || true
        cat "$folder/$mapper.proxy.errors" "$folder/unlisted" >&2
        fail "$mapper: other answers differ than those in \`differences\` (see above)"
    fi
}
