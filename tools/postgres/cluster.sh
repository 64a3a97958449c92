#!/bin/bash
# Runs a command with a PostgreSQL cluster of its own: in a temporary directory, on a free port of 127.0.0.1, as an
# unprivileged user, with a random password. The cluster is gone when the command ends. The command finds it by the
# variables of libpq (PGHOST, PGPORT, PGUSER, PGPASSWORD), and in it two databases with Temporal's schemas, from which
# databases for servers are copied: temporal_template and visibility_template.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$here/../../bin
programs=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)

dir=$(mktemp -d /tmp/berth-postgres.XXXXXX)
run=()
if [ "$(id -u)" -eq 0 ]; then # PostgreSQL refuses to run as root
  chown postgres:postgres "$dir"
  run=(setpriv --reuid postgres --regid postgres --clear-groups)
fi

stop() {
  if [ -e "$dir/data/postmaster.pid" ]; then
    "${run[@]}" "$programs/pg_ctl" stop -D "$dir/data" -m immediate -w >/dev/null || true # nothing is to be kept
  fi
  rm -rf "$dir"
}
trap stop EXIT
trap 'exit 130' INT TERM

password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
(umask 077 && echo "$password" >"$dir/password")
[ ${#run[@]} -eq 0 ] || chown postgres "$dir/password"
cd "$dir" # the user must be able to be where it starts
"${run[@]}" "$programs/initdb" -D "$dir/data" -U temporal --auth=scram-sha-256 --pwfile="$dir/password" --no-sync >"$dir/log" ||
  { cat "$dir/log" >&2; exit 1; }

# Nothing is to survive the machine: no write waits for the disk. What is free now may be taken a moment later: try again with another port.
for _ in 1 2 3 4 5; do
  port=$(shuf -i 20000-30000 -n 1)
  if "${run[@]}" "$programs/pg_ctl" start -D "$dir/data" -w -l "$dir/server.log" -o \
    "-c listen_addresses=127.0.0.1 -c port=$port -c unix_socket_directories=$dir -c max_connections=400 -c fsync=off" >/dev/null; then
    break
  fi
  port=
done
[ -n "$port" ] || { cat "$dir/server.log" >&2; exit 1; }

export PGHOST=127.0.0.1 PGPORT=$port PGUSER=temporal PGPASSWORD=$password
export SQL_HOST=$PGHOST SQL_PORT=$PGPORT SQL_USER=$PGUSER SQL_PASSWORD=$PGPASSWORD SQL_PLUGIN=postgres12
for store in temporal visibility; do
  export SQL_DATABASE=${store}_template
  {
    "$bin/temporal-sql-tool" create-database
    "$bin/temporal-sql-tool" setup-schema --version 0.0
    "$bin/temporal-sql-tool" update-schema --schema-name "postgresql/v12/$store"
  } >"$dir/schema.log" 2>&1 || { tail -n 20 "$dir/schema.log" >&2; exit 1; }
done
unset "${!SQL_@}"

cd "$here/../.."
"$@"
