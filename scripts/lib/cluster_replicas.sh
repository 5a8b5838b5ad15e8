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

# Commits wait for replicas only when there are some: see demand_acknowledgments.
make_primary() { # NODE
  node_sql "$1" "STOP SLAVE; RESET SLAVE ALL; SET GLOBAL rpl_semi_sync_slave_enabled = OFF;
    SET GLOBAL rpl_semi_sync_master_enabled = OFF; SET GLOBAL read_only = OFF;
    CREATE USER IF NOT EXISTS replica@'127.0.0.1' IDENTIFIED BY 'replica';
    GRANT REPLICATION SLAVE ON *.* TO replica@'127.0.0.1'"
  echo "$1" >"$dir/primary"
}

# slave_pos: what the node has executed itself, as a primary, is not asked for again.
make_replica() { # NODE
  node_sql "$1" "SET GLOBAL read_only = ON; SET GLOBAL rpl_semi_sync_master_enabled = OFF;
    SET GLOBAL rpl_semi_sync_slave_enabled = ON; STOP SLAVE;
    SET GLOBAL gtid_slave_pos = @@gtid_current_pos"
  node_sql "$1" "CHANGE MASTER TO MASTER_HOST = '127.0.0.1',
    MASTER_PORT = $(node_port "$(cat "$dir/primary")"), MASTER_USER = 'replica',
    MASTER_PASSWORD = 'replica', MASTER_CONNECT_RETRY = 1, MASTER_USE_GTID = slave_pos; START SLAVE"
}

# scripts/server has made the same mapping tables on each node. A node that is started for the first
# time forgets these transactions: a replica refuses what its primary does not know.
start_replicas_node() { # NODE
  local is_new=
  [[ -e $dir/$1/data ]] || is_new=1
  start_node "$1"
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
  wait_for 60 "all replicas have caught up" replicas_caught_up
  demand_acknowledgments
}

# From here on a commit of the primary is answered when a replica has it.
demand_acknowledgments() {
  node_sql "$(cat "$dir/primary")" "SET GLOBAL rpl_semi_sync_master_enabled = ON"
}

# The last transaction of the primary has been executed by each replica that runs.
replicas_caught_up() {
  local node primary position
  primary=$(cat "$dir/primary")
  position=$(node_sql "$primary" "SELECT @@gtid_binlog_pos") || return 1
  for ((node = 1; node <= nodes; ++node)); do
    if ((node != primary)) && node_runs "$node"; then
      [[ $(node_sql "$node" "SELECT MASTER_GTID_WAIT('$position', 1)") == 0 ]] || return 1
    fi
  done
}

# A killed primary comes back as a replica. What it had written to its binary log and never heard of
# from a replica is cut off it at the start (semi-synchronous recovery); a node that has more than the
# primary nevertheless is refused by the primary, with an error that START SLAVE shows.
rejoin_replicas_node() {
  [[ $1 != "$(cat "$dir/primary")" ]] || {
    start_node "$1"
    make_primary "$1"
    demand_acknowledgments
    return
  }
  start_node "$1" --rpl-semi-sync-slave-enabled=ON
  make_replica "$1"
  wait_for 120 "node $1 has caught up" replicas_caught_up
}

promote_replicas_node() {
  local node
  [[ $1 != "$(cat "$dir/primary")" ]] || die "node $1 is the primary"
  # What it has received and not executed yet comes first: that was acknowledged.
  wait_for 60 "node $1 has executed what it received" has_executed_all "$1"
  make_primary "$1"
  for ((node = 1; node <= nodes; ++node)); do
    if ((node != $1)) && node_runs "$node"; then make_replica "$node"; fi
  done
  wait_for 60 "the other replicas have caught up" replicas_caught_up
  demand_acknowledgments
}

has_executed_all() {
  local status
  status=$(run_server sql "$1" --execute "SHOW SLAVE STATUS\G" </dev/null) || return 1
  grep -q "Slave_SQL_Running_State: Slave has read all relay log" <<<"$status" ||
    grep -q "Slave_SQL_Running: No" <<<"$status"
}

isolate_replicas_node() {
  node_sql "$1" "STOP SLAVE IO_THREAD"
}

reconnect_replicas_node() {
  node_sql "$1" "START SLAVE IO_THREAD"
  wait_for 120 "node $1 has caught up" replicas_caught_up
}
