#!/bin/sh
# Does what README.md says under "Two minutes", as a reader would, and checks that its
# conversation is answered. Usage: two-minutes.sh
set -eu
cd "$(dirname "$0")/.."

make demo

# shellcheck disable=SC2016 # the backquotes are README.md's
url=$(sed -n 's/.*`psql "\(postgres:[^"]*\)"`.*/\1/p' README.md)
bin/dpproxy demo &
demo=$!
said=$(mktemp)
trap 'kill "$demo" 2>/dev/null || true; rm -f "$said"' EXIT
until psql --no-psqlrc --quiet -c "SELECT 1" "$url" >/dev/null 2>&1; do
	kill -0 "$demo" # it may have failed
	sleep 1
done
prompts=$(grep -c '^    demo=> ' README.md)
refused=$(grep -c '^    ERROR:' README.md)
sed -n 's/^    demo=> //p' README.md | psql --no-psqlrc --echo-all --pset=pager=off "$url" 2>&1 | tee "$said"
[ "$(grep -c '^ERROR:' "$said")" -eq "$refused" ]
[ "$(grep -c '^([0-9]* rows*)' "$said")" -eq $((prompts - refused)) ]
kill "$demo"
wait "$demo" || true

make nafld
echo "two-minutes.sh: all of it works"
