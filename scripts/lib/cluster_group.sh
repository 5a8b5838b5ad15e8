# shellcheck shell=bash disable=SC2154 # reads what cluster sets
# The members of a group of MySQL's group replication on loopback, all of which write. Sourced by cluster, after
# cluster_nodes.sh. The group's traffic is not encrypted, because it does not leave the machine.

make_group_nodes() {
  local node name ports seeds
  name=$(cat /proc/sys/kernel/random/uuid)
  mapfile -t ports < <(free_ports "$nodes" "$dir")
  seeds=$(printf ',127.0.0.1:%s' "${ports[@]}")
  for ((node = 1; node <= nodes; ++node)); do
    write_node_options "$node" "--server-id=$node" --log-bin=binlog --gtid-mode=ON \
      --enforce-gtid-consistency=ON --report-host=127.0.0.1 \
      --plugin-load-add=group_replication.so "--loose-group-replication-group-name=$name" \
      --loose-group-replication-start-on-boot=OFF --loose-group-replication-ssl-mode=DISABLED \
      --loose-group-replication-single-primary-mode=OFF \
      --loose-group-replication-recovery-use-ssl=OFF --loose-group-replication-recovery-get-public-key=ON \
      "--loose-group-replication-local-address=127.0.0.1:${ports[node - 1]}" \
      "--loose-group-replication-group-seeds=${seeds#,}"
  done
}

group_state() { node_sql "$1" "SELECT CONCAT(member_state, ', ', member_role)
  FROM performance_schema.replication_group_members WHERE member_id = @@server_uuid"; }

is_online() {
  local state
  state=$(group_state "$1" 2>/dev/null) && [[ $state == ONLINE,* ]]
}

# scripts/server has made the same mapping tables on each node. A node that is started for the first time forgets these
# transactions: a group accepts no member that has transactions of its own.
start_group_node() { # NODE
  local is_new=
  [[ -e $dir/$1/data ]] || is_new=1
  start_node "$1"
  [[ -z $is_new ]] || node_sql "$1" "SET SQL_LOG_BIN = 0;
    CREATE USER replica@'127.0.0.1' IDENTIFIED BY 'replica';
    GRANT REPLICATION SLAVE, CONNECTION_ADMIN, BACKUP_ADMIN, GROUP_REPLICATION_STREAM ON *.* TO replica@'127.0.0.1';
    SET SQL_LOG_BIN = 1; RESET BINARY LOGS AND GTIDS;
    CHANGE REPLICATION SOURCE TO SOURCE_USER = 'replica', SOURCE_PASSWORD = 'replica'
      FOR CHANNEL 'group_replication_recovery'"
}

join_group() { # NODE
  node_sql "$1" "START GROUP_REPLICATION"
  wait_for 120 "node $1 is online" is_online "$1"
}

has_all_of() { # NODE OTHER
  [[ $(node_sql "$1" "SELECT GTID_SUBSET('$(node_sql "$2" "SELECT @@gtid_executed")', @@gtid_executed)") == 1 ]]
}

# A group whose members have all stopped has to be started by a member that has every transaction of the others.
first_group_node() {
  local node other
  for ((node = 1; node <= nodes; ++node)); do
    for ((other = 1; other <= nodes; ++other)); do
      has_all_of "$node" "$other" || continue 2
    done
    echo "$node"
    return
  done
  die "no node of $dir has all transactions of the others: remove the data folder of one that may lose its own"
}

start_group_nodes() {
  local node first
  for ((node = 1; node <= nodes; ++node)); do start_group_node "$node"; done
  first=$(first_group_node)
  node_sql "$first" "SET GLOBAL group_replication_bootstrap_group = ON"
  join_group "$first"
  node_sql "$first" "SET GLOBAL group_replication_bootstrap_group = OFF"
  for ((node = 1; node <= nodes; ++node)); do
    ((node == first)) || join_group "$node"
  done
}

rejoin_group_node() {
  start_group_node "$1"
  join_group "$1"
}

# The member leaves the group, after which it takes no writes.
isolate_group_node() { node_sql "$1" "STOP GROUP_REPLICATION"; }

# A member that the group has expelled tries to join again by itself, at once and every five minutes: meanwhile START
# GROUP_REPLICATION is refused.
reconnect_group_node() {
  is_online "$1" || node_sql "$1" "STOP GROUP_REPLICATION"
  is_online "$1" || join_group "$1"
}

promote_group_node() { die "every member of the group can be written to: there is nothing to promote"; }
