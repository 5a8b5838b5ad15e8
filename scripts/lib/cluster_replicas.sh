# shellcheck shell=bash disable=SC2154,SC2034 # shares its variables with cluster
# A primary and its replicas on loopback: GTID, semi-synchronous with AFTER_SYNC. Sourced by cluster,
# after cluster_nodes.sh.
#
# DIR/primary: the number of the node that is the primary.

make_replicas_nodes() {
  local node
  for ((node = 1; node <= nodes; ++node)); do
    write_node_options "$node" "--server-id=$node" --log-bin=binlog --log-slave-updates=ON \
      --binlog-format=ROW --sync-binlog=1 --innodb-flush-log-at-trx-commit=1 \
      --gtid-strict-mode=ON --rpl-semi-sync-master-wait-point=AFTER_SYNC \
      --rpl-semi-sync-master-timeout=3600000 --rpl-semi-sync-slave-enabled=ON \
      --relay-log-recovery=ON --skip-slave-start
  done
  echo 1 >"$dir/primary"
}

node_port() { sed -n 's/^SQL_PORT=//p' "$dir/$1/env"; }

replicas_state() {
  local read_only
  read_only=$(node_sql "$1" "SELECT @@read_only")
  if [[ $read_only == 0 ]]; then
    say "primary, $(node_sql "$1" "SELECT @@gtid_current_pos")"
  else
    say "replica, $(node_sql "$1" "SELECT @@gtid_slave_pos")"
  fi
}

# Commits do not wait for replicas before there are any: see demand_acknowledgments.
make_primary() { # NODE
  node_sql "$1" "STOP SLAVE; RESET SLAVE ALL; SET GLOBAL rpl_semi_sync_slave_enabled = OFF;
    SET GLOBAL rpl_semi_sync_master_enabled = OFF; SET GLOBAL read_only = OFF;
    CREATE USER IF NOT EXISTS replica@'127.0.0.1' IDENTIFIED BY 'replica';
    GRANT REPLICATION SLAVE ON *.* TO replica@'127.0.0.1'"
  echo "$1" >"$dir/primary"
}

# slave_pos: the node does not ask again for transactions that it has executed itself, as a primary.
make_replica() { # NODE
  node_sql "$1" "SET GLOBAL read_only = ON; SET GLOBAL rpl_semi_sync_master_enabled = OFF;
    SET GLOBAL rpl_semi_sync_slave_enabled = ON; STOP SLAVE;
    SET GLOBAL gtid_slave_pos = @@gtid_current_pos"
  node_sql "$1" "CHANGE MASTER TO MASTER_HOST = '127.0.0.1',
    MASTER_PORT = $(node_port "$(cat "$dir/primary")"), MASTER_USER = 'replica',
    MASTER_PASSWORD = 'replica', MASTER_CONNECT_RETRY = 1, MASTER_USE_GTID = slave_pos; START SLAVE"
}

# scripts/server has made the same mapping tables on each node. A node that is started for the first time forgets these
# transactions: a replica must not have transactions that its primary does not have.
start_replicas_node() { # NODE [OPTION...]
  local is_new=
  [[ -e $dir/$1/data ]] || is_new=1
  start_node "$@"
  [[ -z $is_new ]] || node_sql "$1" "RESET MASTER; SET GLOBAL gtid_slave_pos = ''"
}

start_replicas_nodes() {
  local node primary
  primary=$(cat "$dir/primary")
  start_replicas_node "$primary"
  make_primary "$primary"
  for ((node = 1; node <= nodes; ++node)); do
    if ((node != primary)); then
      start_replicas_node "$node"
      make_replica "$node"
    fi
  done
  wait_for_replicas 60
  demand_acknowledgments
}

# From now on the primary answers a commit only when a replica has it.
demand_acknowledgments() {
  node_sql "$(cat "$dir/primary")" "SET GLOBAL rpl_semi_sync_master_enabled = ON"
}

# One field of SHOW SLAVE STATUS.
slave_status() { # NODE FIELD
  run_server sql "$1" --execute "SHOW SLAVE STATUS\G" </dev/null | sed -n "s/^ *$2: //p"
}

# A replication thread that has ended does not start again by itself, so waiting would not help.
demand_thread() { # NODE IO|SQL
  local error
  [[ $(slave_status "$1" "Slave_$2_Running") == No ]] || return 0
  error=$(slave_status "$1" "Last_$2_Error")
  die "the $2 thread of node $1 does not run: ${error:-it was stopped}"
}

# Waits until these replicas, or all that run, have executed what the primary had when the wait began, because a primary
# under load is always a little ahead.
wait_for_replicas() { # SECONDS [NODE...]
  local node primary position seconds=$1 asked=("${@:2}")
  primary=$(cat "$dir/primary")
  if ((!${#asked[@]})); then
    for ((node = 1; node <= nodes; ++node)); do
      if ((node != primary)) && node_runs "$node"; then asked+=("$node"); fi
    done
  fi
  position=$(node_sql "$primary" "SELECT @@gtid_binlog_pos")
  for node in "${asked[@]}"; do
    wait_for "$seconds" "node $node has caught up" has_executed "$node" "$position"
  done
}

has_executed() { # NODE POSITION
  demand_thread "$1" IO
  demand_thread "$1" SQL
  [[ $(node_sql "$1" "SELECT MASTER_GTID_WAIT('$2', 1)") == 0 ]]
}

# Prints, for each server that wrote to the node, its last transaction if the primary does not have it.
transactions_of_its_own() { # NODE
  local gtid state
  local -A has=()
  state=$(node_sql "$(cat "$dir/primary")" "SELECT @@gtid_binlog_state")
  for gtid in ${state//,/ }; do has[${gtid%-*}]=${gtid##*-}; done
  state=$(node_sql "$1" "SELECT @@gtid_binlog_state")
  for gtid in ${state//,/ }; do
    ((${gtid##*-} <= ${has[${gtid%-*}]-0})) || say "$gtid"
  done
}

# A killed primary comes back as a replica. It may have written transactions to its binary log that no replica has
# received, and that were acknowledged to nobody. With --init-rpl-role=SLAVE the server rolls these back at its start,
# and cuts its binary log. A node that still has more than the primary (because its commits did not wait for replicas)
# is refused and stopped.
rejoin_replicas_node() {
  local more
  if [[ $1 == "$(cat "$dir/primary")" ]]; then
    start_node "$1"
    make_primary "$1"
    demand_acknowledgments
    return
  fi
  start_replicas_node "$1" --read-only=ON --init-rpl-role=SLAVE
  more=$(transactions_of_its_own "$1")
  if [[ -n $more ]]; then
    run_server stop "$1"
    die "node $1 has transactions that the primary does not have, up to ${more//$'\n'/, }:" \
      "remove $dir/$1/data and let the node rejoin; it then copies all from the primary"
  fi
  make_replica "$1"
  wait_for_replicas 120 "$1"
}

# A primary that still runs first gives all of its transactions to the replicas. If it is dead, the replica that has
# received most has all acknowledged transactions.
promote_replicas_node() {
  local node primary replicas=()
  primary=$(cat "$dir/primary")
  (($1 != primary)) || die "node $1 is the primary"
  node_runs "$1" || die "node $1 does not run"
  for ((node = 1; node <= nodes; ++node)); do
    if ((node != primary)) && node_runs "$node"; then replicas+=("$node"); fi
  done
  if node_runs "$primary"; then
    node_sql "$primary" "SET SESSION lock_wait_timeout = 30; SET GLOBAL read_only = ON"
    wait_for_replicas 60
  fi
  for node in "${replicas[@]}"; do node_sql "$node" "STOP SLAVE IO_THREAD"; done
  for node in "${replicas[@]}"; do
    (($(received "$node") <= $(received "$1"))) ||
      die "node $node has received more than node $1: promote node $node"
  done
  wait_for 60 "node $1 has executed what it received" has_executed_all "$1"
  make_primary "$1"
  for ((node = 1; node <= nodes; ++node)); do
    if ((node != $1)) && node_runs "$node"; then make_replica "$node"; fi
  done
  wait_for_replicas 60
  demand_acknowledgments
}

# The number of the last transaction that the replica has received.
received() { # NODE
  local position
  position=$(slave_status "$1" Gtid_IO_Pos)
  say "$((10#0${position##*-}))"
}

has_executed_all() { # NODE
  demand_thread "$1" SQL
  [[ $(node_sql "$1" "SELECT MASTER_GTID_WAIT('$(slave_status "$1" Gtid_IO_Pos)', 1)") == 0 ]]
}

isolate_replicas_node() {
  node_sql "$1" "STOP SLAVE IO_THREAD"
}

reconnect_replicas_node() {
  node_sql "$1" "START SLAVE IO_THREAD"
  wait_for_replicas 120 "$1"
}
