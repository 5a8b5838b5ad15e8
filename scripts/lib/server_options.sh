# shellcheck shell=bash disable=SC2034 # sets what server reads
# Reads the ports and sockets in the caller's own mariadbd options. Sourced by server.

# user_option NAME OPTION...: prints the value of the last --NAME=value or --NAME value among the
# options (dashes and underscores alike, with or without --loose-); fails if there is none.
user_option() {
  local name=${1//_/-} found=1 value="" option key
  shift
  while (($#)); do
    option=$1
    shift
    [[ $option == --* ]] || continue
    key=${option%%=*}
    key=${key//_/-}
    key=--${key#--}
    key=${key/#--loose-/--}
    [[ $key == "--$name" ]] || continue
    found=0
    if [[ $option == *=* ]]; then
      value=${option#*=}
    else
      value=${1-}
    fi
  done
  ((found == 0)) && printf '%s\n' "$value"
}

# Prints the port that the documents' examples use if it is free and start has not lost such ports, otherwise the other
# one.
documented_or() { if [[ -z ${leaves_documented_ports-} ]] && port_is_free "$1"; then echo "$1"; else echo "$2"; fi; }

# Sets: sql_port hs_port hs_port_wr memcached_port resp_port (0: none, as installed), and ports_fixed=1 if the caller
# chose any of them but RESP's: only the caller can then change a taken port. With ROWSOCKET_DOCUMENTED_PORTS, takes the
# ports of the documents if they are free. Also sets waits_for_resp=1 if the caller has not chosen RESP's port, because
# start does not wait for one that the caller has chosen.
choose_ports() {
  local name fixed free
  waits_for_resp=0
  mapfile -t free < <(free_ports 5)
  sql_port=${free[0]} hs_port=${free[1]} hs_port_wr=${free[2]} memcached_port=${free[3]} resp_port=0
  if [[ -n ${ROWSOCKET_DOCUMENTED_PORTS-} ]]; then
    hs_port=$(documented_or 9998 "$hs_port")
    hs_port_wr=$(documented_or 9999 "$hs_port_wr")
    memcached_port=$(documented_or 11211 "$memcached_port")
    resp_port=$(documented_or 6379 "${free[4]}") waits_for_resp=1
  fi
  ports_fixed=0
  for name in port handlersocket_port handlersocket_port_wr daemon_memcached_port; do
    fixed=$(user_option "$name" "$@") || continue
    ports_fixed=1
    case $name in
      port) sql_port=$fixed ;;
      handlersocket_port) hs_port=$fixed ;;
      handlersocket_port_wr) hs_port_wr=$fixed ;;
      daemon_memcached_port) memcached_port=$fixed ;;
    esac
  done
  if fixed=$(user_option resp_port "$@"); then resp_port=$fixed waits_for_resp=0; fi
  # --resp=OFF keeps the plugin out.
  fixed=$(user_option resp "$@") || fixed=ON
  if [[ ${fixed^^} =~ ^(OFF|0|FALSE)$ ]]; then resp_port=0 waits_for_resp=0; fi
  fixed=$(user_option daemon_memcached_option "$@") || return 0
  if [[ $fixed =~ -p\ *([0-9]+) ]]; then
    ports_fixed=1 memcached_port=${BASH_REMATCH[1]}
  fi
  # A UNIX socket replaces the port.
  if [[ $fixed =~ -s\ *[^\ ] ]]; then memcached_port=0; fi
}
