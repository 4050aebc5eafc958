#!/usr/bin/env bash
# Fails where a function is reached by no command and is not named in internal/kept, or is
# named there although a command reaches it. The arguments are the command that looks:
# scripts/unreachable.sh go tool -modfile=tools/go.mod deadcode
set -euo pipefail
cd "$(dirname "$0")/.."

commands=(./cmd/dpproxy ./pgerr/gen)
# node.scalar closes the type of expressions; nobody calls it.
lost=$("$@" "${commands[@]}" ./internal/kept | grep -v 'planner/scalar/expr.go.*: node.scalar$' || true)
if [ -n "$lost" ]; then
	echo "$lost"
	echo "reached by no command: use it, take it out, or name its use in internal/kept/main.go"
	exit 1
fi

# Of each package that is linked, "package.Name" of the functions that no command reaches.
linked=$(go list -deps "${commands[@]}")
unreached=$("$@" -f '{{$p := .Name}}{{range .Funcs}}{{println (printf "%s.%s" $p .Name)}}{{end}}' "${commands[@]}")
imported=$(sed -n 's/^\t"\(.*\)"$/\1/p' internal/kept/main.go)
status=0
for name in $(grep -v '^\s*//' internal/kept/main.go | grep -oE '\(?\*?[a-z]+\.[A-Z][A-Za-z.)]*' | tr -d '(*)'); do
	path=$(grep -E "(^|/)${name%%.*}\$" <<<"$imported")
	if grep -qxF "$path" <<<"$linked" && ! grep -qxF "$name" <<<"$unreached"; then
		echo "internal/kept/main.go: a command reaches $name: take its line out"
		status=1
	fi
done
exit $status
