# shellcheck shell=bash disable=SC2154 # reads what cluster sets
# What the nodes of both kinds of cluster have in common: each is a private server of scripts/server with options of its
# own in DIR/N.options, one per line. Sourced by cluster.

load_cluster() {
  [[ -r $dir/cluster ]] || die "no cluster in $dir: make one with scripts/cluster start $dir"
  # shellcheck source=/dev/null
  . "$dir/cluster"
  use_server "$server_name"
}

# run_server COMMAND NODE [arguments...]
run_server() {
  local command=$1 node=$2
  shift 2
  "$repo_dir/scripts/server" "$command" "$dir/$node" "$@"
}

# Writes the node's options, with ports that it keeps, so that its clients find it again.
write_node_options() { # NODE OPTION...
  local node=$1 free
  shift
  mapfile -t free < <(free_ports 4 "$dir")
  printf '%s\n' "--port=${free[0]}" "--loose-handlersocket-port=${free[1]}" \
    "--loose-handlersocket-port-wr=${free[2]}" "--loose-daemon-memcached-port=${free[3]}" "$@" \
    "${user_options[@]}" >"$dir/$node.options"
}

start_node() { # NODE [OPTION...]
  local node=$1 options
  shift
  mapfile -t options <"$dir/$node.options"
  [[ ! -e $dir/$node/data ]] || local -x ROWSOCKET_KEEP_TABLES=1
  run_server start "$node" -- "${options[@]}" "$@"
}

node_runs() { run_server status "$1" >/dev/null 2>&1; }

# node_sql NODE STATEMENT: the rows, without names of columns.
node_sql() { run_server sql "$1" --batch --skip-column-names --execute "$2" </dev/null; }

# wait_for SECONDS WHAT COMMAND...: waits until COMMAND succeeds, and says every five seconds for what it waits.
wait_for() {
  local limit=$1 what=$2 started=$SECONDS beat=0
  shift 2
  until "$@"; do
    ((SECONDS - started < limit)) || die "not within $limit s: $what; see $dir/*/error.log"
    if ((SECONDS - started >= beat + 5)); then
      beat=$((SECONDS - started))
      say "  waiting for $beat s: $what"
    fi
    sleep 0.1
  done
}

show_nodes() {
  local node
  for ((node = 1; node <= nodes; ++node)); do
    if node_runs "$node"; then
      say "$node: $("${kind}_state" "$node")"
    else
      say "$node: does not run"
    fi
  done
}
