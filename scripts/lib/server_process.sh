# shellcheck shell=bash disable=SC2154 # reads what server sets
# One private server in DIR: its files, its process, its start and its end. Sourced by server.
#
# DIR/data      data directory        DIR/tmp   its own temporary files
# DIR/plugin    its loadable plugins  DIR/run   pid files and socket
# DIR/error.log                       DIR/env   exists from the server's first answer to its end

server_pid() { cat "$dir/run/pid" 2>/dev/null; }

# Whether the process is a running server with this data directory, and not a later process with the
# same number.
is_our_server() {
  local pid=${1-} arguments
  [[ $pid =~ ^[0-9]+$ && -r /proc/$pid/cmdline ]] || return 1
  mapfile -d '' -t arguments 2>/dev/null <"/proc/$pid/cmdline" || return 1
  [[ ${arguments[0]-} == */"$server_program" ]] || return 1
  [[ " ${arguments[*]} " == *" --datadir=$dir/data "* ]]
}

# Whether the process is a part of the kernel, by the flag PF_KTHREAD: it has no arguments, and never ends. After a
# restart of the machine such a process may have the number of an earlier server.
is_kernel_thread() { # STAT_FILE
  local stat fields
  stat=$(cat "$1" 2>/dev/null) || return 1
  # The name, in parentheses, may have blanks.
  read -r -a fields <<<"${stat##*) }"
  ((${fields[6]-0} & 0x200000))
}

# Whether threads of a process that is ending are left: they keep its files and ports until the last of them is gone,
# although its memory, and with it its arguments, is gone already.
is_ending() { # PID
  local pid=$1 state tasks
  [[ $pid =~ ^[0-9]+$ && -r /proc/$pid/cmdline && -z $(tr -d '\0' 2>/dev/null <"/proc/$pid/cmdline") ]] || return 1
  state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$pid/status" 2>/dev/null) || return 1
  tasks=("/proc/$pid/task/"*)
  ! is_kernel_thread "/proc/$pid/stat" || return 1
  [[ -n $state && ($state != Z || ${#tasks[@]} -gt 1) ]]
}

wait_until_gone() { # PID SECONDS_MAX WHAT
  local pid=$1 limit=$2 what=$3 started=$SECONDS beat=0
  while is_our_server "$pid" || is_ending "$pid"; do
    ((SECONDS - started < limit)) || return 1
    if ((SECONDS - started >= beat + 5)); then
      beat=$((SECONDS - started))
      say "  $what: process $pid is still there after $beat s"
    fi
    sleep 0.02
  done
}

forget_server() {
  local socket
  socket=$(sed -n 's/^SQL_SOCKET=//p' "$dir/env" 2>/dev/null || true)
  rm -f "$dir/env" "$dir/run/pid"
  if [[ $socket == /tmp/rowsocket-* ]]; then
    rm -rf "${socket%/*}"
  fi
}

# --- Preparations ---

# The server does not run as root unless it is told to. The user nobody is better, if that user can reach all files;
# below a folder that only root may enter (often a test runner's), only root works.
choose_user() {
  server_user=$(id -un)
  [[ $EUID -eq 0 ]] || return 0
  # shellcheck disable=SC2016 # the other shell's arguments
  if as_nobody /bin/sh -c 'test -x "$1" && test -x "$2" && test -r "$3"' sh "$dir" \
    "$ROWSOCKET_SERVER_PREFIX/usr/sbin/$server_program" "$ROWSOCKET_SERVER_SHARE/english/errmsg.sys"; then
    server_user=nobody
  fi
}

as_nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"; }

# With ROWSOCKET_SPARSE_DATA zeros in the files, which are most of the log, take no room on the disk: the tests make
# hundreds of such directories, and every fsync would wait until their 100 MB are on the disk. A benchmark's log is
# written in full, so that no commit has to allocate a part of it.
make_data_directory() {
  local sparse=never
  [[ ! -e $dir/data ]] || return 0
  rm -rf "$dir/data.partial"
  [[ -d ${ROWSOCKET_SERVER_DATADIR-} ]] ||
    die "$cache_dir has the headers of $server_name, but not the server: run scripts/bootstrap --server $server_name server"
  [[ -z ${ROWSOCKET_SPARSE_DATA-} ]] || sparse=always
  cp -R --no-preserve=ownership --sparse="$sparse" "$ROWSOCKET_SERVER_DATADIR" "$dir/data.partial"
  chmod -R u+rwX "$dir/data.partial"
  mv "$dir/data.partial" "$dir/data"
}

# The server's own plugins are links; the library under test is a copy, so that a build in progress does
# not change the file under a running server.
fill_plugin_directory() {
  local library
  library=${ROWSOCKET_SO:-$(build_dir release)/rowsocket.so}
  ln -sf "$ROWSOCKET_SERVER_PREFIX"/usr/lib/mysql/plugin/*.so "$dir/plugin/"
  if [[ -r $library ]]; then
    cp "$library" "$dir/plugin/rowsocket.so.partial"
    chmod a+rx "$dir/plugin/rowsocket.so.partial"
    mv "$dir/plugin/rowsocket.so.partial" "$dir/plugin/rowsocket.so"
  elif [[ $plugin == rowsocket ]]; then
    die "$library is not there: run scripts/build --server $server_name (or set ROWSOCKET_SO)"
  fi
}

# The path of a UNIX socket has at most 107 bytes.
choose_socket() {
  sql_socket=$dir/run/mysql.sock
  if (LC_ALL=C && ((${#sql_socket} > 107))); then
    sql_socket=$(mktemp -d /tmp/rowsocket-XXXXXXXX)/mysql.sock
    chmod 755 "${sql_socket%/*}"
    [[ $server_user != nobody ]] || chown nobody: "${sql_socket%/*}"
  fi
}

prepare_directory() {
  mkdir -p "$dir"/{tmp,plugin,run}
  touch "$dir/error.log"
  make_data_directory
  fill_plugin_directory
  choose_user
  if [[ $EUID -eq 0 ]]; then
    chown -R "$server_user": "$dir"/{data,tmp,run,error.log}
    # The caller's options may put sockets and logs into DIR, so the server's user owns it; a folder
    # shared by all users is left alone.
    [[ -k $dir ]] || chown "$server_user": "$dir"
  fi
}

# --- Start ---

# Sets: arguments. The caller's options come last, so that they win. The size of the buffer pool is not
# among them: wsrep_sst_mariabackup of 10.11.18 would hand it on to mariadb-backup, which refuses it.
server_arguments() {
  local share=$ROWSOCKET_SERVER_SHARE
  arguments=(--no-defaults --basedir="$ROWSOCKET_SERVER_PREFIX/usr" --lc-messages-dir="$share"
    --character-sets-dir="$share/charsets" --datadir="$dir/data" --tmpdir="$dir/tmp"
    --plugin-dir="$dir/plugin" --socket="$sql_socket" --pid-file="$dir/run/$server_program.pid"
    --log-error="$dir/error.log" --bind-address=127.0.0.1 --port="$sql_port"
    --character-set-server=utf8mb4 --collation-server=utf8mb4_general_ci
    --innodb-adaptive-hash-index=ON)
  # In MySQL no later option can take this one back.
  [[ " ${user_options[*]} " == *" --skip-name-resolve=OFF "* ]] || arguments+=(--skip-name-resolve)
  if [[ $server_family == mysql ]]; then
    # As in MariaDB, there is no binary log unless the caller's options ask for one.
    arguments+=(--skip-log-bin --innodb-redo-log-capacity=96M --secure-file-priv=NULL --mysqlx=OFF
      --log-error-verbosity=3
      --auto-generate-certs=OFF --caching-sha2-password-auto-generate-rsa-keys=OFF)
  else
    # SELECT ... INTO OUTFILE writes nowhere else: every local user is root of this server, and it may run as root.
    arguments+=(--innodb-log-file-size=96M --secure-file-priv="$dir/tmp")
  fi
  [[ $EUID -ne 0 ]] || arguments+=(--user="$server_user")
  case $plugin in
    rowsocket) arguments+=(--plugin-load-add=rowsocket.so) ;;
    bundled) arguments+=(--plugin-load-add=handlersocket --plugin-maturity=unknown) ;;
  esac
  # The ports are set without a plugin, too: a later INSTALL SONAME finds them.
  arguments+=(--loose-handlersocket-address=127.0.0.1 --loose-handlersocket-port="$hs_port"
    --loose-handlersocket-port-wr="$hs_port_wr" --loose-daemon-memcached-address=127.0.0.1
    --loose-daemon-memcached-port="$memcached_port" --loose-resp-port="$resp_port" "${user_options[@]}")
}

# The server is detached, with a session of its own and none of this script's open files: otherwise a
# reader of this script's output would wait for the server to end.
launch() {
  # A MySQL that was killed leaves this file, and the next server does not start while the old one is still a zombie.
  rm -f "$sql_socket.lock"
  (
    exec </dev/null >>"$dir/error.log" 2>&1
    cd "$dir/data" || exit
    for fd in /proc/self/fd/*; do
      fd=${fd##*/}
      ((fd <= 2)) || eval "exec $fd>&-"
    done
    [[ -z ${ROWSOCKET_PRELOAD-} ]] || export LD_PRELOAD=$ROWSOCKET_PRELOAD
    exec setsid "$ROWSOCKET_SERVER_PREFIX/usr/sbin/$server_program" "${arguments[@]}"
  ) &
  pid=$!
  echo "$pid" >"$dir/run/pid"
}

sql() {
  local plain=--skip-ssl
  [[ $server_family == mariadb ]] || plain=--ssl-mode=DISABLED
  "$ROWSOCKET_SERVER_PREFIX/usr/bin/$client_program" --no-defaults "$plain" --socket="$sql_socket" \
    --user=root \
    --character-sets-dir="$ROWSOCKET_SERVER_SHARE/charsets" \
    --default-character-set=utf8mb4 "$@"
}

# Prints how many plugins are wanted but not active; resp is wanted if choose_ports has chosen its port. Fails if the
# server does not answer.
missing_plugins() {
  local wanted=1 names="'handlersocket'"
  [[ -S $sql_socket ]] || return 1
  [[ $plugin != rowsocket ]] || wanted=$((2 + waits_for_resp)) names+=", 'daemon_memcached'"
  [[ $plugin != none ]] || wanted=0
  ((waits_for_resp == 0)) || names+=", 'resp'"
  sql --batch --skip-column-names --execute "SELECT $wanted - LEAST($wanted, COUNT(*))
    FROM information_schema.PLUGINS
    WHERE PLUGIN_NAME IN ($names) AND PLUGIN_STATUS = 'ACTIVE'" \
    2>/dev/null </dev/null
}

# Gives daemon_memcached its first mapping tables. A server that takes no writes keeps its tables. scripts/cluster sets
# ROWSOCKET_KEEP_TABLES for a node that comes back: its tables are the cluster's.
install_mapping_tables() {
  [[ $plugin == rowsocket && -z ${ROWSOCKET_KEEP_TABLES-} ]] || return 0
  sql <"$repo_dir/packaging/innodb_memcache.sql" >/dev/null 2>&1 || true
}

listeners_are_up() {
  local wanted=()
  [[ $plugin == none ]] || wanted=("$hs_port" "$hs_port_wr")
  if [[ $plugin == rowsocket ]]; then
    wanted+=("$memcached_port")
    ((waits_for_resp == 0)) || wanted+=("$resp_port")
  fi
  process_listens "$pid" "${wanted[@]}"
}

# What the log says, in each server's words, of a plugin that will never be active.
plugin_failures="Can't open shared library|init function returned error|Plugin '.*' registration as a .* failed"

# Waits until the server answers on all its sockets but that of a RESP whose port the caller has chosen. Sets failure when
# it never will.
wait_until_ready() {
  local started=$SECONDS beat=0 limit=120 missing
  failure=""
  # The child counts as the server only once it has become the program.
  until missing=$(missing_plugins); do
    if ! kill -0 "$pid" 2>/dev/null; then
      failure="the server ended by itself"
      return 1
    fi
    if ((SECONDS - started >= limit)); then
      failure="the server does not answer SQL after $limit s"
      return 1
    fi
    if ((SECONDS - started >= beat + 5)); then
      beat=$((SECONDS - started))
      say "  waiting for the server for $beat s (a crash recovery can take a while)"
    fi
    sleep 0.03
  done
  # A node that joins a Galera cluster may answer before it has started its plugins.
  limit=$((SECONDS + 10))
  until ((missing == 0)); do
    if ((SECONDS >= limit)) || log_of_this_start | grep -qE "$plugin_failures"; then
      failure="the server runs, but one of its plugins refused to start"
      return 1
    fi
    sleep 0.1
    # It may refuse a statement right after one that it has answered.
    missing=$(missing_plugins) || missing=1
  done
  limit=$((SECONDS + 10))
  until listeners_are_up; do
    if log_of_this_start | grep -q 'rowsocket: .*stays closed'; then
      failure="the server runs, but keeps a port closed"
      return 1
    fi
    if ((SECONDS >= limit)); then
      failure="nothing of this server listens on port $hs_port, $hs_port_wr or $memcached_port"
      ((waits_for_resp == 0)) || failure+=", or on $resp_port"
      return 1
    fi
    sleep 0.02
  done
}

write_env() {
  {
    printf 'SQL_SOCKET=%q\n' "$sql_socket"
    echo "SQL_PORT=$sql_port"
    echo "HS_PORT=$hs_port"
    echo "HS_PORT_WR=$hs_port_wr"
    echo "MEMCACHED_PORT=$memcached_port"
    echo "RESP_PORT=$resp_port"
    echo "PID=$pid"
    printf 'DIR=%q\n' "$dir"
  } >"$dir/env.partial"
  mv "$dir/env.partial" "$dir/env"
}

# The part of the error log that this start has written.
log_of_this_start() { tail -c "+$((log_size_before + 1))" "$dir/error.log"; }

# MariaDB's own plugin logs nothing when it cannot bind: only a port without an answer shows it.
is_lost_port() {
  ((ports_fixed == 0)) &&
    grep -qiE 'address already in use|of this server listens' <<<"$failure$failure_log"
}

end_launched_server() {
  kill -TERM "$pid" 2>/dev/null || true
  wait_until_gone "$pid" 10 "SIGTERM sent" || kill -KILL "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  rm -f "$dir/run/$server_program.pid"
  forget_server
}

start_once() {
  choose_socket
  choose_ports "${user_options[@]}"
  sql_socket=$(user_option socket "${user_options[@]}" || echo "$sql_socket")
  server_arguments
  log_size_before=$(stat -c %s "$dir/error.log")
  launch
  if wait_until_ready; then
    install_mapping_tables
    # `set -e` has no effect here, because start_server checks the result of this function.
    write_env && return 0
    failure="$dir/env could not be written"
  fi
  failure_log=$(log_of_this_start)
  end_launched_server
  return 1
}

start_server() {
  local tries_left=5
  if is_our_server "$(server_pid)"; then
    die "a server runs in $dir already (process $(server_pid)); stop it first"
  fi
  wait_until_gone "$(server_pid)" 120 "the server that was in $dir is ending" ||
    die "the server that was in $dir, process $(server_pid), is still ending; try again later"
  forget_server
  prepare_directory
  trap 'end_launched_server; exit 130' INT TERM HUP
  until start_once; do
    tries_left=$((tries_left - 1))
    if ! is_lost_port || ((tries_left == 0)); then
      warn "$failure; the end of $dir/error.log:"
      tail -n 40 <<<"$failure_log" >&2
      exit 1
    fi
    say "  a port was taken meanwhile; trying others"
    # A port of the documents that is bound, but has no listener, would look free each time.
    ((tries_left > 3)) || leaves_documented_ports=1
  done
  trap - INT TERM HUP
}

# --- End ---

# Whether the process is gone without having removed its pid file, as a shutdown does.
died_by_itself() { [[ -e $dir/run/$server_program.pid ]]; }

end_server() { # SIGNAL SECONDS_MAX
  local pid
  pid=$(server_pid) || pid=""
  if ! is_our_server "$pid"; then
    wait_until_gone "$pid" "$2" "killed by another program" ||
      die "the server that was in $dir, process $pid, is still ending $2 s after it was killed; try again later"
    if [[ -n $pid ]] && died_by_itself; then
      rm -f "$dir/run/$server_program.pid"
      forget_server
      warn "the server in $dir (process $pid) had ended by itself; the end of its error log:"
      tail -n 30 "$dir/error.log" >&2
      return 1
    fi
    forget_server
    say "no server runs in $dir"
    return 0
  fi
  kill -s "$1" "$pid"
  wait_until_gone "$pid" "$2" "SIG$1 sent" ||
    die "the server in $dir, process $pid, is still there $2 s after SIG$1; see $dir/error.log"
  rm -f "$dir/run/$server_program.pid"
  forget_server
}
