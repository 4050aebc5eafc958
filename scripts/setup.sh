#!/bin/sh
# Installs the Debian packages that dpproxy's build, tests and benchmarks need and
# that are not there yet. Safe to repeat. Usage: setup.sh base|test|clients|versions|bench ...
set -eu

missing=""
python=/usr/lib/python3/dist-packages
need() { # need PACKAGE PATH: PACKAGE is missing if PATH does not exist
	[ -e "$2" ] || missing="$missing $1"
}

for group in "$@"; do
	case "$group" in
	base)
		command -v gcc >/dev/null || missing="$missing gcc"
		need libc6-dev /usr/include/stdio.h
		need postgresql-15 /usr/lib/postgresql/15/bin/postgres
		need postgresql-client-15 /usr/lib/postgresql/15/bin/psql
		;;
	test)
		need redis-server /usr/bin/redis-server
		need python3-psycopg2 $python/psycopg2
		need python3-psycopg $python/psycopg
		need python3-asyncpg $python/asyncpg
		need python3-pandas $python/pandas
		;;
	clients)
		need python3-sqlalchemy $python/sqlalchemy
		need pgcli $python/pgcli
		need odbc-postgresql /usr/lib/x86_64-linux-gnu/odbc/psqlodbcw.so
		ls $python/pyodbc* >/dev/null 2>&1 || missing="$missing python3-pyodbc"
		need libpostgresql-jdbc-java /usr/share/java/postgresql.jar
		command -v javac >/dev/null || missing="$missing default-jdk-headless"
		command -v npm >/dev/null || missing="$missing npm"
		need libdbd-pg-perl /usr/share/doc/libdbd-pg-perl
		command -v php >/dev/null || missing="$missing php-cli"
		need php-pgsql /usr/share/doc/php-pgsql
		need ruby-pg /usr/share/doc/ruby-pg
		need ruby-sequel /usr/share/doc/ruby-sequel
		need ruby-activerecord /usr/share/doc/ruby-activerecord
		need python3-django $python/django
		need tcl8.6-tdbc-postgres /usr/share/doc/tcl8.6-tdbc-postgres
		need libpgtcl /usr/share/doc/libpgtcl
		command -v tclsh >/dev/null || missing="$missing tcl"
		need adminer /usr/share/adminer/adminer/index.php
		command -v soffice >/dev/null || missing="$missing libreoffice-base"
		need libreoffice-sdbc-postgresql /usr/share/doc/libreoffice-sdbc-postgresql
		need python3-uno $python/uno.py
		need r-base-core /usr/bin/Rscript
		need r-cran-rpostgresql /usr/lib/R/site-library/RPostgreSQL
		need r-cran-dbplyr /usr/lib/R/site-library/dbplyr
		;;
	bench)
		need pgbouncer /usr/sbin/pgbouncer
		;;
	versions)
		command -v npm >/dev/null || missing="$missing npm"
		;;
	nafld)
		need r-base-core /usr/bin/Rscript
		need r-cran-survival /usr/lib/R/library/survival
		;;
	*)
		echo "setup.sh: unknown group $group" >&2
		exit 2
		;;
	esac
done

[ -n "$missing" ] || exit 0
echo "installing:$missing"
sudo=""
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || { echo "setup.sh: install these packages as root:$missing" >&2; exit 1; }
	sudo=sudo
fi
log=$(mktemp)
no_services="" # the file that keeps services from starting, while this script has it there
trap 'rm -f "$log"; [ -z "$no_services" ] || $sudo rm -f "$no_services"' EXIT
trap 'exit 1' HUP INT TERM
case "$missing" in
*redis-server*)
	# The tests start servers of their own; the package's would only take a port.
	if [ ! -e /usr/sbin/policy-rc.d ]; then
		no_services=/usr/sbin/policy-rc.d
		printf '#!/bin/sh\nexit 101\n' | $sudo tee "$no_services" >/dev/null
		$sudo chmod 755 "$no_services"
	fi
	;;
esac
# shellcheck disable=SC2086 # a list of package names
if ! { $sudo apt-get update -qq &&
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } >"$log" 2>&1; then
	cat "$log" >&2
	echo "setup.sh: apt-get could not install$missing" >&2
	exit 1
fi
