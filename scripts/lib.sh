# shellcheck shell=bash
# The common part of all scripts here: places, messages, long steps. Sourced, never run.
#
# Places   repo_dir   this checkout
#          cache_dir  the results of bootstrap: /var/cache/rowsocket for root, the user's own
#                     cache folder otherwise; ROWSOCKET_CACHE names another. Absolute, no blanks
#          store_dir  where bootstrap keeps what it makes: cache_dir itself, unless cache_dir is a view of
#                     another folder, which its file view-of names (scripts/lib/cache_view.sh)
# Servers  server_name: the chosen server: --server, or ROWSOCKET_SERVER, or the first of servers;
#          server_family: mariadb or mysql; server_title, server_program, client_program: its names
# After load_server_env: ROWSOCKET_SERVER_VERSION, _PREFIX, _SOURCE, _BUILD, _SHARE (see
# scripts/bootstrap).

# With CDPATH, cd would look for folders there first, and print where it went.
unset CDPATH
repo_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*"; }
warn() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() {
  warn "$*"
  exit 1
}

# Prints nothing if the user has no home folder. A runner of tests, or a container, may leave HOME unset.
default_cache_dir() {
  local home=${HOME-}
  if [[ $EUID -eq 0 ]]; then
    echo /var/cache/rowsocket
  elif [[ -n ${XDG_CACHE_HOME-} ]]; then
    echo "$XDG_CACHE_HOME/rowsocket"
  else
    [[ -n $home ]] || home=$(getent passwd "$EUID" | cut -d: -f6) || true
    [[ -z $home ]] || echo "$home/.cache/rowsocket"
  fi
}
cache_dir=${ROWSOCKET_CACHE:-$(default_cache_dir)}
[[ -n $cache_dir ]] ||
  die "the user $EUID has no home folder: set ROWSOCKET_CACHE to a folder for what the scripts obtain"
cache_dir=$(realpath -ms -- "$cache_dir")
# Programs called from here may work in another folder, so they get the absolute path.
[[ -z ${ROWSOCKET_CACHE-} ]] || export ROWSOCKET_CACHE=$cache_dir
store_dir=$cache_dir
[[ ! -r $cache_dir/view-of ]] || store_dir=$(<"$cache_dir/view-of")

# The servers that the library is built for, each with the release of Debian that has it. Commands for every server,
# such as scripts/build --all, mean the servers of MariaDB: in MySQL the library serves only a part (docs/MYSQL.md).
servers=(mariadb-10.11 mariadb-11.8 mysql-9.7)
complete_servers=(mariadb-10.11 mariadb-11.8)
declare -A server_release=([mariadb-10.11]=bookworm [mariadb-11.8]=trixie [mysql-9.7]=sid)
# The release from which every machine takes the memcached, Redis and Prometheus with which the tests compare.
compared_release=bookworm
# Debian's releases in their order.
declare -A release_number=([bookworm]=12 [trixie]=13 [sid]=99)

# use_server NAME: chooses that server for this script and every script that it calls.
use_server() {
  [[ -n $1 && " ${servers[*]} " == *" $1 "* ]] ||
    die "there is no server '$1'; --server and ROWSOCKET_SERVER name one of: ${servers[*]}"
  server_name=$1
  server_family=${1%%-*}
  if [[ $server_family == mysql ]]; then
    server_title=MySQL server_program=mysqld client_program=mysql
  else
    server_title=MariaDB server_program=mariadbd client_program=mariadb
  fi
  export ROWSOCKET_SERVER=$1
}
use_server "${ROWSOCKET_SERVER:-${servers[0]}}"

# The server's own makefiles do not work in a folder with blanks in its name, either.
[[ $cache_dir != *[[:space:]]* ]] ||
  die "the cache folder '$cache_dir' has a blank in its path: set ROWSOCKET_CACHE to one without"

# run_step WHAT LOG COMMAND...: runs COMMAND with its output in LOG, and prints WHAT and, every ten seconds, the time so
# far. On failure it prints the end of LOG, and fails. `set -e` does not end a function that is run like this, because
# its caller checks the result: it has to chain its commands with &&. COMMAND has a process group of its own, which this
# script ends when it has to end itself: a background job would not get Ctrl-C, and its children no SIGTERM.
run_step() {
  local what=$1 log=$2 started=$SECONDS pid last=${!-} beat=0 status=0 traps
  shift 2
  say "$what ..."
  traps=$(trap -p INT TERM HUP)
  trap '[[ ${!-} == "$last" ]] || kill -TERM -- "-$!" 2>/dev/null || true; exit 130' INT TERM HUP
  set -m
  "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  set +m
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    if ((SECONDS - started >= beat + 10)); then
      beat=$((SECONDS - started))
      say "  not finished after $beat s: $what"
    fi
  done
  wait "$pid" || status=$?
  trap - INT TERM HUP
  eval "$traps"
  if ((status != 0)); then
    warn "failed: $what; the end of $(realpath "$log"):"
    tail -n 30 "$log" >&2
    return 1
  fi
  ((SECONDS - started < 5)) || say "  done after $((SECONDS - started)) s"
}

# The python that makes the virtual environment: Debian's own if it is installed, because another python in PATH may
# have any version and lack the venv module.
system_python() {
  if [[ -x /usr/bin/python3 ]]; then
    echo /usr/bin/python3
  else
    command -v python3
  fi
}

# The code name of this machine's release of Debian.
debian_release() { (. /etc/os-release && echo "${VERSION_CODENAME-}"); }

# The version of LLVM whose clang, clang-format and clang-tidy check the code: Debian 12's, and on other releases a
# version that they have.
llvm_version() { if [[ $(debian_release) == bookworm ]]; then echo 14; else echo 19; fi; }

# The folder of the virtual environment with exactly these requirements. Only the Python that made an environment, such
# as 3.11, can use it, and an upgrade of Debian brings another Python.
venv_dir() {
  local hash version=''
  version=$("$(system_python)" -ISc 'import sys; print(*sys.version_info[:2])' 2>/dev/null) || true
  hash=$({ echo "$version" && cat "$repo_dir/scripts/requirements.txt"; } | sha256sum)
  echo "$cache_dir/venv-${hash:0:16}"
}

# The link to the server's cache, which bootstrap makes.
server_link() { echo "$cache_dir/$server_name"; }

load_server_env() {
  [[ -r $(server_link)/env ]] ||
    die "no $server_name in $cache_dir: run scripts/bootstrap --server $server_name first"
  # shellcheck source=/dev/null
  . "$(server_link)/env"
  # Messages and character sets: usr/share/mariadb in MariaDB 11.8, usr/share/mysql in the others.
  ROWSOCKET_SERVER_SHARE=$ROWSOCKET_SERVER_PREFIX/usr/share/mariadb
  [[ -e $ROWSOCKET_SERVER_SHARE/charsets ]] ||
    ROWSOCKET_SERVER_SHARE=$ROWSOCKET_SERVER_PREFIX/usr/share/mysql
}

# build_dir PRESET: the build folder. A preset that builds for one server has a folder for each server.
build_dir() {
  local folder=$repo_dir/build
  [[ $1 == release ]] || folder+=-$1
  if [[ $1 =~ ^(release|sanitize-library|contract)$ && $server_name != "${servers[0]}" ]]; then
    folder+=-$server_name
  fi
  echo "$folder"
}
