#!/bin/bash
# The life of the package for MySQL on a machine, run by scripts/test --server mysql-9.7 package as root of a
# chroot of its own, with the package in /srv and nothing but apt: install, session, remove, purge. Ends at
# the first promise that is broken. Without systemd the server is started by mysqld itself.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

load=/etc/mysql/mysql.conf.d/rowsocket-load.cnf

# shellcheck source=tests/package/machine.sh
. "$(dirname "$0")/machine.sh"

start() {
  local tries
  install -m 755 -o mysql -g root -d /run/mysqld
  mysqld --user=mysql >/srv/mysqld.log 2>&1 9>&- &
  for ((tries = 0; tries < 1200; ++tries)); do
    ! mysqladmin ping >/dev/null 2>&1 || return 0
    sleep 0.1
  done
  fail "the server does not start: $(tail -n 20 /srv/mysqld.log /var/log/mysql/error.log 2>/dev/null)"
}
stop() {
  quietly mysqladmin shutdown
  wait
}
restart() { stop && start; }

start
quietly apt-get install -y python3
mysql -e "CREATE DATABASE shop; CREATE TABLE shop.stock (id INT PRIMARY KEY, left_over INT) ENGINE=InnoDB;
  INSERT INTO shop.stock VALUES (7, 42)"
list_files >/srv/before

say "install, which asks nothing"
quietly apt-get install -y /srv/mysql-plugin-rowsocket_*.deb
check_secrets

say "a restart"
restart
check_ports

say "UNINSTALL PLUGIN and INSTALL PLUGIN"
mysql -e "UNINSTALL PLUGIN handlersocket"
! (exec 3<>/dev/tcp/127.0.0.1/9998) 2>/dev/null || fail "the port is open still"
mysql -e "INSTALL PLUGIN handlersocket SONAME 'rowsocket.so'"
check_ports

say "a server of another version is held back"
depends=$(dpkg-query -W -f '${Depends}' mysql-plugin-rowsocket)
version=$(dpkg-query -W -f '${Version}' mysql-server-core)
[[ $depends == *"mysql-server-core (>= ${version%-*}~)"* && $depends == *"mysql-server-core (<< "* ]] ||
  fail "the package takes any server: $depends"

say "a library that is gone under the server's option files"
mv /usr/lib/mysql/plugin/rowsocket.so /srv/
restart
[[ $(mysql -Ne "SELECT left_over FROM shop.stock") == 42 ]] || fail "no rows without the library"
mv /srv/rowsocket.so /usr/lib/mysql/plugin/
restart
check_ports

say "remove"
quietly apt-get remove -y mysql-plugin-rowsocket
! (exec 3<>/dev/tcp/127.0.0.1/9999) 2>/dev/null || fail "the port is open still"
restart
[[ $(mysql -Ne "SELECT left_over FROM shop.stock; SELECT COUNT(*) FROM mysql.plugin WHERE dl = 'rowsocket.so'") == $'42\n0' ]] ||
  fail "the server is not as it was"

say "install again, then purge"
quietly apt-get install -y /srv/mysql-plugin-rowsocket_*.deb
restart
check_ports
quietly apt-get purge -y mysql-plugin-rowsocket
list_files | diff /srv/before - >/srv/diff || [[ -z $(grep rowsocket /srv/diff) ]] ||
  fail "left behind: $(cat /srv/diff)"
stop
say "all is as it was"
