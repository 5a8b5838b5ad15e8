# shellcheck shell=bash disable=SC2154,SC2034 # shares its variables with cluster
# The nodes of a Galera cluster on loopback. Sourced by cluster, after cluster_nodes.sh.
#
# DIR/N.ports: three free ports: of the group communication, of incremental and of full state transfers.

# The script that copies the data to a node that joins looks for rsync or mariadb-backup, and for the
# server's programs, in PATH.
prepare_galera() {
  install_missing_packages cluster
  make_galera_cache
  load_server_env
  PATH=$ROWSOCKET_SERVER_PREFIX/usr/bin:$ROWSOCKET_SERVER_PREFIX/usr/sbin:$PATH
  if [[ $sst == mariabackup ]]; then
    make_backup_cache
    PATH=$(backup_programs):$PATH
  fi
  export PATH
}

galera_ports() { mapfile -t ports <"$dir/$1.ports"; }

# In 11.8 the plugin wsrep_provider makes wsrep_provider_options read only, and has no variable for gmcast.isolate, so
# the plugin is switched off.
make_galera_nodes() {
  local node ports addresses="" separator=""
  for ((node = 1; node <= nodes; ++node)); do
    free_ports 3 "$dir" >"$dir/$node.ports"
    galera_ports "$node"
    addresses+=${separator}127.0.0.1:${ports[0]}
    separator=,
  done
  for ((node = 1; node <= nodes; ++node)); do
    galera_ports "$node"
    write_node_options "$node" --binlog-format=ROW --innodb-autoinc-lock-mode=2 \
      --wsrep-on=ON "--wsrep-provider=$(galera_provider)" --wsrep-cluster-name=rowsocket \
      "--wsrep-cluster-address=gcomm://$addresses" "--wsrep-node-name=n$node" \
      "--wsrep-node-address=127.0.0.1:${ports[0]}" --wsrep-slave-threads=2 \
      --loose-plugin-wsrep-provider=OFF \
      "--wsrep-sst-method=$sst" --wsrep-sst-auth=root: \
      "--wsrep-sst-receive-address=127.0.0.1:${ports[2]}" \
      "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:${ports[0]};ist.recv_addr=127.0.0.1:${ports[1]};gcache.size=128M;gcs.fc_limit=256"
  done
}

galera_state() { node_sql "$1" "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS
  WHERE VARIABLE_NAME = 'wsrep_local_state_comment'"; }

is_synced() {
  local state
  state=$(galera_state "$1" 2>/dev/null) && [[ $state == Synced ]]
}

# A cluster whose nodes have all stopped has to be started by the node that stopped last, or that was the furthest when
# it was killed: its grastate.dat says so. A new cluster is started by node 1.
first_galera_node() {
  local node
  for ((node = 1; node <= nodes; ++node)); do
    if grep -qs '^safe_to_bootstrap: 1' "$dir/$node/data/grastate.dat"; then
      echo "$node"
      return
    fi
  done
  [[ ! -e $dir/1/data ]] ||
    die "no node of $dir may begin the cluster: set safe_to_bootstrap to 1 in the grastate.dat of the one that has the newest data"
  echo 1
}

start_galera_nodes() {
  local node first
  prepare_galera
  first=$(first_galera_node)
  start_node "$first" --wsrep-cluster-address=gcomm://
  wait_for 60 "node $first is synced" is_synced "$first"
  for ((node = 1; node <= nodes; ++node)); do
    ((node == first)) || rejoin_galera_node "$node"
  done
}

rejoin_galera_node() {
  prepare_galera
  start_node "$1"
  wait_for 120 "node $1 is synced" is_synced "$1"
}

isolate_galera_node() {
  node_sql "$1" "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'"
}

reconnect_galera_node() {
  node_sql "$1" "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'"
  wait_for 120 "node $1 is synced" is_synced "$1"
}

promote_galera_node() { die "every node of a Galera cluster can be written to: there is nothing to promote"; }
