#!/bin/sh
# psql: backslash commands, a cursor in pages, an interrupt, an error in a transaction.
run() { psql --no-psqlrc --quiet --no-align --tuples-only --set=VERBOSITY=verbose "$@" 2>&1; }
charges() { run -c "SELECT round(spent / 0.1)::int FROM dp.budget WHERE kind = 'unit'"; }

run -c "SELECT 'connect: ok'"
for command in '\dn public' '\d hospitals' '\d visits' '\d labs' '\d+ hospitals' '\di' '\ds' '\dT' '\dD' '\df' '\dv'; do
	# The owner and the policy that protects a table are the mirror's own.
	run -c "$command" | grep -v -e '^POLICY ' -e '^Policies' -e 'dp.protected' |
		sed -e 's/|dpproxy_owner/|owner/' -e 's/|postgres/|owner/' -e 's/^/list: /'
done
[ "$1" = list ] && exit

export PGOPTIONS="-c client_min_messages=warning"
run -c "SELECT 'aggregate: ' || diagnosis || '/' || pg_typeof(diagnosis) || ' #/' || pg_typeof(count(*)) || ' #/' || pg_typeof(avg(cost))
	FROM visits WHERE hospital_id > 0 GROUP BY diagnosis ORDER BY diagnosis"
before=$(charges)
rows=$(run --set=FETCH_COUNT=1 -c "SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis ORDER BY diagnosis" | wc -l)
echo "page: $rows rows $(($(charges) - before)) charge"

interrupted=$(mktemp)
psql --no-psqlrc --set=VERBOSITY=verbose -c "SELECT pg_sleep(60)" >"$interrupted" 2>&1 &
psql=$!
until [ "$(run -c "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND state = 'active' AND pid <> pg_backend_pid()")" = 1 ]; do :; done
kill -INT "$psql"
wait "$psql"
sed -n 's/^ERROR:  \([0-9A-Z]*\):.*/cancel: \1/p' "$interrupted"
rm "$interrupted"

run <<'SQL' | sed -n -e 's/^ERROR:  \([0-9A-Z]*\): /error: \1 /p' -e '/^recover/p'
BEGIN;
SELECT * FROM patients;
SELECT 'recover: too early';
ROLLBACK;
SELECT 'recover: 1';
SQL
