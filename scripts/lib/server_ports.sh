# shellcheck shell=bash
# Loopback ports: finds free ports, and the owners of taken ports. Sourced by server.

# Whether no process listens on the port. (A process that has bound the port and does not listen goes
# unseen: the server then fails to bind, and start tries other ports.)
port_is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# claim_port PORT [DIR]: whether the port belongs to no other folder; makes it DIR's for as long as DIR
# exists. A node of a cluster comes back to its ports, and listens on some of them only now and then.
claim_port() {
  local file=$cache_dir/ports/$1 owner=''
  [[ ! -s $file ]] || owner=$(<"$file")
  [[ -z $owner || ! -d $owner ]] || return 1
  [[ -n ${2-} ]] || return 0
  mkdir -p "$cache_dir/ports" || die "cannot make the folder $cache_dir/ports"
  rm -f "$file"
  # Where another process is faster, its note is there.
  (set -o noclobber && echo "$2" >"$file") 2>/dev/null && return
  [[ -s $file ]] || die "cannot write $file: is the disk full?"
  return 1
}

# free_ports COUNT [DIR]: prints COUNT different ports, which are DIR's from then on. They are below the
# range that the kernel gives to outgoing connections, so that no such connection can sit on one of them.
free_ports() {
  local count=$1 port chosen=" "
  while ((count > 0)); do
    port=$((10000 + (RANDOM * 32768 + RANDOM) % 22000))
    if [[ $chosen != *" $port "* ]] && port_is_free "$port" && claim_port "$port" "${2-}"; then
      chosen+="$port "
      count=$((count - 1))
      echo "$port"
    fi
  done
}

# process_listens PID PORT: whether a listening TCP socket of this port belongs to the process. It is
# looked up rather than connected to: the server under test would count a connection.
process_listens() {
  local pid=$1 hex inode
  printf -v hex '%04X' "$2"
  while read -r inode; do
    if [[ -n $(find "/proc/$pid/fd" -lname "socket:\[$inode\]" -print -quit 2>/dev/null) ]]; then
      return 0
    fi
  done < <(awk -v port=":$hex" '$4 == "0A" && $2 ~ (port "$") { print $10 }' \
    /proc/net/tcp /proc/net/tcp6 2>/dev/null)
  return 1
}

# listener_is_up PID PORT: PORT as mariadbd takes it: a number, the path of a UNIX socket, or nothing (0
# or empty: there is no listener to wait for).
listener_is_up() {
  case $2 in
    "" | 0) return 0 ;;
    /*) [[ -S $2 ]] ;;
    *[!0-9]*) return 0 ;;
    *) process_listens "$1" "$2" ;;
  esac
}
