#!/usr/bin/env bash
# Runs a command in a copy of this checkout on a bare Debian 12: a root that mmdebstrap
# makes, where nothing is installed but make. Of this machine it has Go and Go's modules
# (read-only), the network, and where packages come from. All of it ends with the command.
#
# Usage: bare.sh [--user] COMMAND [ARGUMENT...]
#   --user  run the command as an ordinary user with sudo, not as root
# The command finds a folder that is kept between runs in /var/cache/bare, if it is root.
#
# Needs root, or user namespaces with sub-ids. Exits with 69 where no root can be made.
set -euo pipefail
cd "$(dirname "$0")/.."

user=root
packages="make"
if [ "${1-}" = --user ]; then
	user=analyst packages=make,sudo
	shift
fi
[ $# -gt 0 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }

impossible() {
	echo "bare.sh: no bare root can be made here: $*" >&2
	exit 69
}

namespaces=(setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child)
[ "$(id -u)" -eq 0 ] || namespaces+=(--user --map-root-user --map-auto)
"${namespaces[@]}" true || impossible "this account may not have namespaces of its own"
if ! command -v mmdebstrap >/dev/null; then
	[ "$(id -u)" -eq 0 ] || impossible "mmdebstrap is not installed"
	{ apt-get update -qq && apt-get install -y -qq --no-install-recommends mmdebstrap; } >&2 || impossible "mmdebstrap cannot be installed"
fi

cache=${XDG_CACHE_HOME:-$HOME/.cache}/dpproxy/bare
mkdir -p "$cache/kept"
scratch=$(mktemp -d) # /tmp of the root
inside=""
trap '[ -z "$inside" ] || kill -KILL "$inside" 2>/dev/null; rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$scratch/root" "$scratch/tmp"

# Where packages come from: Debian's own sources of this machine, and how it reaches them.
sources=()
for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
	! grep -qsw bookworm "$file" || sources+=("$file")
done
apt-config dump --format '%f "%v";%n' Acquire | grep -E '^Acquire::(https?|Check|Force|Retries)' >"$scratch/acquire" || true

# The root as it was made this week: the command installs the rest anew.
made_from=$(cat ${sources[@]+"${sources[@]}"} "$scratch/acquire" <(echo "$packages") | sha256sum | cut -c1-16)
tarball=$cache/root-$made_from.tar
if [ -z "$(find "$tarball" -mtime -7 2>/dev/null)" ]; then
	echo "bare.sh: making a root with mmdebstrap" >&2
	timeout 10m mmdebstrap --quiet --variant=minbase --include="$packages" --aptopt="$scratch/acquire" \
		bookworm "$scratch/root.tar" ${sources[@]+"${sources[@]}"} >&2 || impossible "mmdebstrap failed"
	find "$cache" -name 'root-*.tar' -mtime +7 -delete
	mv "$scratch/root.tar" "$tarball"
fi

# The modules that the tests and their runner use, since the root cannot add to them.
for module in . tools/test integration/clients/suites; do
	[ ! -e "$module/go.mod" ] || go -C "$module" mod download >&2 || impossible "Go's modules cannot be downloaded"
done

export BARE_SCRATCH=$scratch BARE_TARBALL=$tarball BARE_KEPT=$cache/kept BARE_USER=$user
BARE_GOROOT=$(go env GOROOT) BARE_GOMODCACHE=$(go env GOMODCACHE) BARE_GOFLAGS=$(go env GOFLAGS)
export BARE_GOROOT BARE_GOMODCACHE BARE_GOFLAGS
"${namespaces[@]}" scripts/bare-root.sh "$@" &
inside=$!
status=0
wait "$inside" || status=$?
inside=""
exit "$status"
