# shellcheck shell=bash
# Loopback ports: finds free ports, and the owners of taken ports. Sourced by server.

# Whether no process listens on the port. (A process that has bound the port and does not listen goes
# unseen: the server then fails to bind, and start tries other ports.)
port_is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# claim_port PORT [DIR]: whether the port belongs to no other folder; makes it DIR's for as long as DIR exists. A node
# of a cluster uses its ports again when it comes back, and does not listen on all of them all the time.
claim_port() {
  local file=$cache_dir/ports/$1 owner=''
  [[ ! -s $file ]] || owner=$(<"$file")
  [[ -z $owner || ! -d $owner ]] || return 1
  [[ -n ${2-} ]] || return 0
  mkdir -p "$cache_dir/ports" || die "cannot make the folder $cache_dir/ports"
  rm -f "$file"
  # If another process was faster, its note is there.
  (set -o noclobber && echo "$2" >"$file") 2>/dev/null && return
  [[ -s $file ]] || die "cannot write $file: is the disk full?"
  return 1
}

# free_ports COUNT [DIR]: prints COUNT different ports, which belong to DIR from then on. They are below the range that
# the kernel gives to outgoing connections, so that no such connection can sit on one of them.
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

# process_listens PID PORT...: whether the process listens on each PORT, which is as mariadbd takes it: a
# number, the path of a UNIX socket, or nothing (0 or empty: there is no listener to wait for). The sockets are
# looked up rather than connected to: the server under test would count a connection. They are read once for
# all ports, because the kernel goes through all of the machine's connections for it.
process_listens() {
  local pid=$1 port hex inode missing=" " owned
  shift
  for port; do
    case $port in
      "" | 0) ;;
      /*) [[ -S $port ]] || return 1 ;;
      *[!0-9]*) ;;
      *)
        printf -v hex '%04X' "$port"
        [[ $missing == *" $hex "* ]] || missing+="$hex "
        ;;
    esac
  done
  [[ $missing != " " ]] || return 0
  # Without CAP_SYS_PTRACE, as in a container, root cannot read which sockets a process of another user has. A server
  # always has one, so that finding nothing means that: any process's listener on the port then counts.
  owned=$(find "/proc/$pid/fd" -lname 'socket:*' -printf ' %l ' 2>/dev/null) || true
  while read -r hex inode; do
    [[ -n $owned && $owned != *" socket:[$inode] "* ]] || missing=${missing// $hex / }
  done < <(awk '$4 == "0A" { print substr($2, length($2) - 3), $10 }' /proc/net/tcp /proc/net/tcp6 2>/dev/null)
  [[ $missing == " " ]]
}
