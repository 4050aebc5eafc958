#!/bin/sh
# pgbench in its three ways of sending a statement, each with four clients.
[ "$1" = list ] && exec psql --no-psqlrc --tuples-only --no-align -c "SELECT 'list: ' || table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"
psql --no-psqlrc --tuples-only --no-align -c "SELECT 'list: ' || table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"
echo "connect: ok"
export PGOPTIONS="-c client_min_messages=warning"
script=$(mktemp)
cat >"$script" <<'SQL'
\set hospital random(1, 5)
SELECT count(*) AS n FROM visits WHERE hospital_id = :hospital;
SELECT :hospital + 1;
SQL
for mode in simple extended prepared; do
	pgbench --no-vacuum --protocol="$mode" --file="$script" --client=4 --transactions=5 2>&1 |
		sed -n -e "s/^number of transactions actually processed: /$mode: /p" -e "/^number of failed/s/^/$mode: /p" -e '/error\|fatal/Ip'
done
rm "$script"
