#!/bin/sh
# A Citus cluster of three PostgreSQL 15 servers on this machine, for tests. See CONTRIBUTING.md.
#
#   ops/citus/test-cluster.sh build <folder>   builds and installs Citus 12.1 from its sources, as root
#   ops/citus/test-cluster.sh start            creates the servers at the first start, and prints CITUS_DATABASE_URL
#   ops/citus/test-cluster.sh stop
#   ops/citus/test-cluster.sh stop-node <port> | start-node <port>
#
# CITUS_DIRECTORY has the data (default: /tmp/rapport-citus), PG_BIN the programs of PostgreSQL 15.
set -eu

directory=${CITUS_DIRECTORY:-/tmp/rapport-citus}
bin=${PG_BIN:-/usr/lib/postgresql/15/bin}
ports='5520 5521 5522'

# PostgreSQL does not run as root.
run() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }
sql() { "$bin/psql" --host 127.0.0.1 --port "$1" --username rapport --dbname postgres --quiet --no-align --tuples-only --command "$2"; }

create_node() {
  run "$bin/initdb" --pgdata "$directory/$1" --username rapport --auth trust --encoding UTF8 --locale C --lc-ctype C.UTF-8 --no-sync >/dev/null
  # Without durability, as in the tests with a single server. Each workspace is in one of eight shards per table.
  run tee -a "$directory/$1/postgresql.conf" >/dev/null <<C
port = $1
unix_socket_directories = '$directory'
shared_preload_libraries = 'citus'
max_connections = 300
max_prepared_transactions = 600
max_worker_processes = 100
wal_level = logical
fsync = off
full_page_writes = off
synchronous_commit = off
autovacuum = off
citus.shard_count = 8
citus.node_conninfo = 'sslmode=disable'
citus.max_shared_pool_size = -1
citus.propagate_set_commands = local
C
}

start_node() { run "$bin/pg_ctl" --pgdata "$directory/$1" --log "$directory/$1.log" --wait start >/dev/null </dev/null; }
stop_node() { run "$bin/pg_ctl" --pgdata "$directory/$1" --mode "$2" --wait stop >/dev/null; }

case ${1:-} in
build)
  cd "${2:?folder of the sources of Citus}"
  ./configure --without-libcurl PG_CONFIG="$bin/pg_config"
  make -j"$(nproc)" extension
  make install-all
  ;;
start)
  mkdir -p "$directory"
  [ "$(id -u)" != 0 ] || chown postgres "$directory"
  for port in $ports; do
    [ -d "$directory/$port" ] || create_node "$port"
    start_node "$port"
  done
  for port in $ports; do sql "$port" 'create extension if not exists citus'; done
  sql 5520 "select citus_set_coordinator_host('127.0.0.1', 5520)" >/dev/null
  for port in 5521 5522; do sql 5520 "select citus_add_node('127.0.0.1', $port)" >/dev/null; done
  echo CITUS_DATABASE_URL=postgres://rapport@127.0.0.1:5520/postgres
  ;;
stop) for port in $ports; do stop_node "$port" fast; done ;;
stop-node) stop_node "${2:?port}" immediate ;;
start-node) start_node "${2:?port}" ;;
*)
  sed -n '2,9s/^# \{0,1\}//p' "$0"
  exit 2
  ;;
esac
