#!/bin/bash
# The life of the package on a machine, run by scripts/test package as root of a chroot of its own, with the
# package in /srv and nothing but apt: install, session, upgrade, remove, purge. Ends at the first promise
# that is broken. Without systemd the server is started by mariadbd-safe.
#
#   inside.sh SECURITY_URI SUITE   SECURITY_URI has a newer server; empty: the release itself may have one
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

security=$1 suite=$2
load=/etc/mysql/mariadb.conf.d/rowsocket-load.cnf

# shellcheck source=tests/package/machine.sh
. "$(dirname "$0")/machine.sh"

start() {
  local tries
  install -m 755 -o mysql -g root -d /run/mysqld
  mariadbd-safe --user=mysql >/dev/null 2>&1 9>&- &
  for ((tries = 0; tries < 1200; ++tries)); do
    ! mariadb-admin ping >/dev/null 2>&1 || return 0
    sleep 0.1
  done
  fail "the server does not start: $(tail -n 20 /var/lib/mysql/*.err /var/log/mysql/error.log 2>/dev/null)"
}
stop() {
  quietly mariadb-admin shutdown
  wait
}
restart() { stop && start; }

check_session() {
  check_ports
  check_sockets
  rowsocket-doctor || fail "rowsocket-doctor finds something"
}

start
quietly apt-get install -y python3
mariadb -e "CREATE DATABASE shop; CREATE TABLE shop.stock (id INT PRIMARY KEY, left_over INT) ENGINE=InnoDB;
  INSERT INTO shop.stock VALUES (7, 42)"
list_files >/srv/before

say "install, which asks nothing"
quietly apt-get install -y /srv/mariadb-plugin-rowsocket_*.deb
check_secrets
[[ -s /usr/share/doc/mariadb-plugin-rowsocket/examples/haproxy.cfg ]] || fail "there is no recipe for HAProxy"
setpriv --reuid=nobody --clear-groups mariadb --print-defaults >/dev/null || fail "other clients cannot start"

say "INSTALL SONAME beside a running server, then a restart"
mariadb -e "INSTALL SONAME 'rowsocket'"
check_session
restart
check_session

before=$(dpkg-query -W -f '${Version}' mariadb-server-core)
[[ -z $security ]] || echo "deb $security $suite-security main" >/etc/apt/sources.list.d/security.list
quietly apt-get update
newer=$(apt-cache policy mariadb-server-core | sed -n 's/ *Candidate: //p')
if [[ ${newer%-*} == "${before%-*}" ]]; then
  [[ -z $security ]] || fail "no newer server is offered"
else
  say "an upgrade of the server, from $before to $newer"
  apt-get upgrade -y >/srv/upgrade 2>&1 </dev/null || fail "$(tail /srv/upgrade)"
  [[ $(dpkg-query -W -f '${Version}' mariadb-server-core) == "$before" ]] || fail "the server was upgraded"
  grep -q "Rowsocket: MariaDB $newer is held back" /srv/upgrade || fail "nobody says why: $(cat /srv/upgrade)"
  restart
  check_session
  say "the newer server all the same: the library says why it does not serve"
  quietly apt-mark hold mariadb-plugin-rowsocket
  (cd /srv && quietly apt-get download "mariadb-server-core=$newer" && stop &&
    quietly dpkg --force-depends -i mariadb-server-core_*.deb)
  start
  ! (exec 3<>/dev/tcp/127.0.0.1/9998) 2>/dev/null || fail "a library of another version serves"
  rowsocket-doctor >/srv/doctor && fail "rowsocket-doctor finds nothing"
  grep -q "the libraries are for" /srv/doctor || fail "$(cat /srv/doctor)"
  rm /srv/mariadb-server-core_*.deb
  cp /srv/server/mariadb-server-core_*.deb /srv/ 2>/dev/null ||
    (cd /srv && quietly apt-get download "mariadb-server-core=$before")
  (cd /srv && stop && quietly dpkg --force-downgrade -i mariadb-server-core_*.deb)
  quietly apt-mark unhold mariadb-plugin-rowsocket
  start
  check_session
fi

say "a library that is gone under the server's option files"
mv /usr/lib/mysql/plugin/rowsocket.so /srv/
restart
[[ $(mariadb -Ne "SELECT left_over FROM shop.stock") == 42 ]] || fail "no rows without the library"
rowsocket-doctor >/srv/doctor && fail "rowsocket-doctor finds nothing"
grep -q "rowsocket.so is not there" /srv/doctor || fail "$(cat /srv/doctor)"
mv /srv/rowsocket.so /usr/lib/mysql/plugin/
restart
check_session

say "remove"
quietly apt-get remove -y mariadb-plugin-rowsocket
! (exec 3<>/dev/tcp/127.0.0.1/9999) 2>/dev/null || fail "the port is open still"
restart
[[ $(mariadb -Ne "SELECT left_over FROM shop.stock; SELECT COUNT(*) FROM mysql.plugin") == $'42\n0' ]] ||
  fail "the server is not as it was"

say "install again, then purge"
quietly apt-get install -y /srv/mariadb-plugin-rowsocket_*.deb
restart
check_session
quietly apt-get purge -y mariadb-plugin-rowsocket
list_files | diff /srv/before - >/srv/diff || [[ -z $(grep rowsocket /srv/diff) ]] ||
  fail "left behind: $(cat /srv/diff)"
stop
say "all is as it was"
