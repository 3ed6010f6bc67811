# Sourced by the `run` of a client: `steps COMMAND...` takes the client through everything that each
# must do. README.md says what COMMAND must support. The client is built in $folder, which is
# removed at the end; $here is the client's own folder.
set -euo pipefail

extension=${STRONGROOM_EXTENSION:?path of libstrongroom}
program=${STRONGROOM_PROGRAM:?path of the program}
exchange=${STRONGROOM_EXCHANGE:?folder where clients leave their files for each other}
here=$(cd "$(dirname "$0")" && pwd)
interop=$(dirname "$here")
name=$(basename "$here")
export STRONGROOM_SCHEMA=$interop/schema.sql

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset STRONGROOM_KEY_FILE STRONGROOM_KEY_COMMAND STRONGROOM_PASSPHRASE_FILE STRONGROOM_DEFAULT

fail() {
    echo "$name: $*" >&2
    exit 1
}

# nothing_readable FILE...: contain neither a row nor SQLite's magic.
nothing_readable() {
    local file
    for file in "$@"; do
        [[ -s $file ]] || fail "$file is missing or empty: nothing was looked at"
        if LC_ALL=C grep -aqF -e canary-59d2-in-plain-text -e "SQLite format 3" -e "CREATE TABLE" \
            "$file"; then
            fail "$file can be read"
        fi
    done
}

# reads_rows WHAT COMMAND...: its output must equal rows.txt.
reads_rows() {
    local what=$1 answer
    shift
    answer=$("$@" 2>"$folder/errors") || fail "$what: $(cat "$folder/errors")"
    diff "$interop/rows.txt" <(printf '%s\n' "$answer") >&2 || fail "$what: rows differ (see above)"
}

# refuses WHAT COMMAND...: must fail because the file does not open.
refuses() {
    local what=$1 answer
    shift
    if answer=$("$@" 2>&1); then
        fail "$what was not refused: $answer"
    fi
    grep -qE "file is not a database|authorization denied|^wrong key" <<<"$answer" ||
        fail "$what was refused for another reason: $answer"
}

# by_program WHAT ARGUMENTS...: runs the program; its output goes to the caller.
by_program() {
    local what=$1
    shift
    "$program" "$@" 2>"$folder/errors" </dev/null || fail "$what: $(cat "$folder/errors")"
}

rows_as_text="SELECT concat_ws(' ', id, typeof(value), CASE typeof(value)
    WHEN 'blob' THEN lower(hex(value)) ELSE value END) FROM rows ORDER BY id"

steps() {
    local file=$folder/$name.db key=$folder/$name.key other=$folder/other.key copy cipher answer
    by_program "new key" key generate "$key"
    by_program "new key" key generate "$other"

    "$@" write "$file" "$key" <"$interop/rows.txt" || fail "write"
    nothing_readable "$file"
    reads_rows "read again" "$@" read "$file" "$key"
    refuses "a wrong key" "$@" read "$file" "$other"
    refuses "no key" "$@" read "$file"

    answer=$("$@" wal "$file" "$key") || fail "write-ahead log"
    [[ $answer == "wal 1 1 2 3" ]] || fail "write-ahead log, two connections: $answer"
    nothing_readable "$file"

    by_program "verify" verify "$file" --key-file "$key" >/dev/null
    reads_rows "read by the program" "$program" shell "$file" "$rows_as_text" --key-file "$key"
    answer=$(by_program "filler" shell "$file" "SELECT count(*), sum(length(text)) FROM filler" \
        --key-file "$key")
    [[ $answer == "1000|100000" ]] || fail "filler, read by the program: $answer"
    for cipher in aegis-256x2 aegis-256 aes-256-gcm xchacha20-poly1305; do
        copy=$folder/$cipher.db
        by_program "copy" encrypt "$file" "$copy" --cipher "$cipher" --key-file "$key" \
            --new-key-file "$other" >/dev/null
        reads_rows "the program's copy in $cipher" "$@" read "$copy" "$other"
    done

    # Files left by the clients before this one.
    for copy in "$exchange"/*.db; do
        [[ -e $copy ]] || continue
        reads_rows "$(basename "$copy")" "$@" read "$copy" "${copy%.db}.key"
    done
    cp "$file" "$key" "$exchange/"
}
