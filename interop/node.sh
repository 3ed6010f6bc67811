# Sourced by the clients of Node, after steps.sh.

# node_packages NAME@VERSION...: downloads packages into $folder, and sets $node to a Node that can
# run them. The packages need Node 22.15 or newer; if the machine's is older, a package provides
# one.
node_packages() {
    local question='const [a, b] = process.versions.node.split("."); process.exit(a > 22 || (a == 22 && b > 14) ? 0 : 1)'
    local packages=("$@") system
    node=node
    if ! node -e "$question"; then
        case $(uname -m) in
            x86_64) system=linux-x64 ;;
            aarch64) system=linux-arm64 ;;
            *) fail "Node is older than 22.15: install a newer one" ;;
        esac
        packages+=("node-$system@24.21.0")
        node=$folder/node_modules/node-$system/bin/node
    fi
    [[ ${#packages[@]} -gt 0 ]] || return 0
    npm install --prefix "$folder" --no-save --no-package-lock --ignore-scripts --no-audit --no-fund \
        --loglevel=error "${packages[@]}" >"$folder/npm.log" 2>&1 || fail "npm: $(cat "$folder/npm.log")"
}
