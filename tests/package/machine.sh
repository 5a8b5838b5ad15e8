# shellcheck shell=bash disable=SC2154 # `load` is the caller's
# What the tests of a package do on their machine, whatever the server is. Sourced by inside.sh and
# inside_mysql.sh, which set `load`: the option file with the secrets.

say() { printf '%s\n' "- $*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
quietly() { "$@" >/srv/log 2>&1 </dev/null || { tail -n 40 /srv/log >&2; fail "$*"; }; }

# ask ADDRESS QUESTION LINES: what is answered on a port or a UNIX socket.
ask() {
  python3 - "$@" <<'PYTHON'
import socket, sys
address, question, lines = sys.argv[1:]
c = socket.socket(socket.AF_UNIX if address[0] == "/" else socket.AF_INET)
c.settimeout(30)
c.connect(address if address[0] == "/" else ("127.0.0.1", int(address)))
c.sendall(question.encode().decode("unicode_escape").encode())
stream = c.makefile("rb")
for _ in range(int(lines)):
    print(stream.readline().decode().rstrip("\r\n").replace("\t", " "))
PYTHON
}
secret() { sed -n "s/^loose_handlersocket_plain_secret$1 = //p" "$load"; }
row() { ask "$1" "A\\t1\\t$(secret "$2")\\nP\\t0\\tshop\\tstock\\tPRIMARY\\tleft_over\\n0\\t=\\t1\\t7\\n" 3 | tail -n 1; }

# check_row ADDRESS SUFFIX: the row, with the secret of that suffix, and nothing without it.
check_row() {
  [[ $(row "$1" "$2") == "0 1 42" ]] || fail "$1 has no row"
  [[ $(ask "$1" 'P\t0\tshop\tstock\tPRIMARY\tleft_over\n' 1) == *unauth* ]] || fail "$1 serves without its secret"
}

check_ports() {
  check_row 9998 ""
  check_row 9999 _wr
  ! (exec 3<>/dev/tcp/127.0.0.1/11211) 2>/dev/null || fail "memcached listens on a port"
}

check_sockets() {
  check_row /run/mysqld/handlersocket.sock ""
  check_row /run/mysqld/handlersocket-wr.sock _wr
  [[ $(ask /run/mysqld/memcached.sock 'version\r\n' 1) == VERSION* ]] || fail "memcached is silent"
  [[ $(stat -c '%A %G' /run/mysqld/memcached.sock) == "srwxrwx--- mysql" ]] || fail "memcached is open"
}

check_secrets() {
  [[ $(stat -c '%a %U' "$load") == "600 mysql" ]] || fail "others may read the secrets"
  [[ $(secret "") =~ ^[0-9a-f]{48}$ && $(secret _wr) =~ ^[0-9a-f]{48}$ && $(secret "") != "$(secret _wr)" ]] ||
    fail "the secrets are not random"
}

# Files of the packaging system, of the server and of time are not the package's.
list_files() {
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /srv -o -path /tmp -o -path /run \
    -o -path /var/lib/mysql -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/cache \
    -o -path /var/log -o -path /var/lib/systemd \) -prune -o ! -type d ! -name '*.pyc' -print | sort
}
