# Sourced by the `run` of a client that is BenchBase's TPC-C, before what starts server and proxy: skips where BenchBase
# is not to be had. $profile is its profile, which brings the driver.
#
# No registry of packages has BenchBase. BENCHBASE_SOURCE is a clone of https://github.com/cmu-db/benchbase, of which
# Maven builds one commit, once, with a JDK that is found, or named by JAVA_HOME. BENCHBASE_SECONDS is how long each
# isolation level is run.
set -euo pipefail

benchbase_commit=d2ff90f5ccc5b6ac4e9169d4c7552312a4c4c0ba
benchbase_built=$(dirname "${STRONGROOM_PROGRAM:?path of the program}")/../interop
benchbase_built+=/benchbase-$profile-${benchbase_commit::8}
benchbase_template=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/benchbase.xml
seconds=${BENCHBASE_SECONDS:-20}
# A last name and what a tenth of the items holds.
canaries=(BARBARBAR ORIGINAL)

skip() {
    echo "$(basename "$(dirname "$0")"): $*" >&2
    exit 77
}

# The folder of a JDK that knows the language of BenchBase.
new_jdk() {
    local folder version
    for folder in "${JAVA_HOME:-}" "$(readlink -f "$(command -v javac)" | sed 's,/bin/javac$,,')" /usr/lib/jvm/*; do
        [[ -x $folder/bin/javac ]] || continue
        version=$("$folder/bin/javac" -version 2>&1 | sed -nE 's/^javac ([0-9]+).*/\1/p')
        if ((${version:-0} >= 23)); then
            echo "$folder"
            return
        fi
    done
}

jdk=$(new_jdk)
[[ -n $jdk ]] || skip "a JDK, 23 or newer, is missing: name its folder in JAVA_HOME"
if [[ ! -d $benchbase_built ]]; then
    command -v mvn >/dev/null || skip "Maven is missing as \`mvn\`"
    [[ -n ${BENCHBASE_SOURCE:-} ]] ||
        skip "BENCHBASE_SOURCE, a clone of https://github.com/cmu-db/benchbase, is not set"
fi

# build_benchbase: if it is not built yet.
build_benchbase() {
    local source=$folder/source
    [[ ! -d $benchbase_built ]] || return 0
    mkdir "$source"
    # Its data are those of other benchmarks.
    git -C "$BENCHBASE_SOURCE" archive "$benchbase_commit" -- . ':(exclude)data' | tar -x -C "$source" ||
        fail "commit $benchbase_commit of BenchBase is not in $BENCHBASE_SOURCE"
    # A newer compiler warns of more.
    sed -i '/<arg>-Werror<\/arg>/d' "$source/pom.xml"
    JAVA_HOME=$jdk mvn --quiet --batch-mode --file "$source/pom.xml" --activate-profiles "$profile" -Dfmt.skip \
        -Dmaven.test.skip -Dmaven.gitcommitid.skip -Ddescriptors=src/main/assembly/tgz.xml package \
        >"$folder/maven.log" 2>&1 || fail "maven: $(tail -n 50 "$folder/maven.log")"
    tar -xzf "$source/target/benchbase-$profile.tgz" -C "$folder"
    rm -rf "$source"
    mkdir -p "$(dirname "$benchbase_built")"
    mv "$folder/benchbase-$profile" "$benchbase_built"
}

# benchbase ISOLATION ARGUMENTS...: what it says is in $folder/benchbase.log. $jdbc are the server's type, the class of
# the driver, a URL in XML, a user and a password.
benchbase() {
    local text
    text=$(<"$benchbase_template")
    text=${text/@TYPE@/"${jdbc[0]}"}
    text=${text/@DRIVER@/"${jdbc[1]}"}
    text=${text/@URL@/"${jdbc[2]}"}
    text=${text/@USER@/"${jdbc[3]}"}
    text=${text/@PASSWORD@/"${jdbc[4]}"}
    text=${text/@ISOLATION@/"$1"}
    text=${text/@SECONDS@/"$seconds"}
    printf '%s\n' "$text" >"$folder/benchbase.config.xml"
    shift
    (cd "$benchbase_built" && "$jdk/bin/java" -jar benchbase.jar -b tpcc -c "$folder/benchbase.config.xml" \
        -d "$folder/results" "$@") >"$folder/benchbase.log" 2>&1 ||
        fail "benchbase: $(tail -n 50 "$folder/benchbase.log")"
}

# load_benchbase: its tables and a warehouse. An error there is a line of the log.
load_benchbase() {
    local errors
    benchbase TRANSACTION_SERIALIZABLE --create=true --load=true --execute=false
    errors=$(grep -E '^\[(ERROR|FATAL)|Exception: |strongroom: ' "$folder/benchbase.log" || true)
    [[ -z $errors ]] || fail "load: $(head -n 20 <<<"$errors")"
}

# completed KIND: how many the histogram of completed transactions has.
completed() {
    sed -n '/Completed Transactions:/,/Aborted Transactions:/p' "$folder/benchbase.log" |
        sed -nE "s/.*procedures\.$1\/.*\[ *([0-9]+)\].*/\1/p"
}

# run_benchbase ERRORS EXPECTED: all five transactions at two isolation levels. A line of the log that the pattern
# ERRORS finds is an error, but where the other one does: terminals lock rows in any order.
run_benchbase() {
    local isolation kind count all errors
    for isolation in TRANSACTION_SERIALIZABLE TRANSACTION_READ_COMMITTED; do
        benchbase "$isolation" --create=false --load=false --execute=true
        errors=$(grep -E "$1|RuntimeException|strongroom: " "$folder/benchbase.log" | grep -vE "$2" || true)
        [[ -z $errors ]] || fail "$isolation: $(head -n 20 <<<"$errors")"
        all=0
        for kind in NewOrder Payment OrderStatus Delivery StockLevel; do
            count=$(completed "$kind")
            ((${count:-0} > 0)) || fail "$isolation: no $kind: $(tail -n 40 "$folder/benchbase.log")"
            ((all += count))
        done
        echo "$name: $isolation: $all transactions in $seconds s"
    done
}
