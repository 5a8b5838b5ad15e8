#!/bin/bash
# The life of the package for MySQL on a machine, run by scripts/test --server mysql-9.7 package as root of a
# chroot of its own, with the package in /srv and nothing but apt: install, session, remove, purge. Ends at
# the first promise that is broken. Without systemd the server is started by mysqld itself.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

load=/etc/mysql/mysql.conf.d/rowsocket-load.cnf

# shellcheck source=tests/package/machine.sh
. "$(dirname "$0")/machine.sh"

# start [COMMAND]
start() {
  local tries
  install -m 755 -o mysql -g root -d /run/mysqld
  bash -c "${1:-exec mysqld --user=mysql}" >/srv/mysqld.log 2>&1 9>&- &
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

check_session() {
  check_ports
  rowsocket-doctor || fail "rowsocket-doctor finds something"
}

# check_found WORDS: what rowsocket-doctor says of a fault has these words.
check_found() {
  ! rowsocket-doctor >/srv/doctor || fail "rowsocket-doctor finds nothing; wanted: $1"
  grep -qF -- "$1" /srv/doctor || fail "rowsocket-doctor does not say '$1': $(cat /srv/doctor)"
}

start
quietly apt-get install -y python3
mysql -e "CREATE DATABASE shop; CREATE TABLE shop.stock (id INT PRIMARY KEY, left_over INT) ENGINE=InnoDB;
  INSERT INTO shop.stock VALUES (7, 42)"
list_files >/srv/before

say "install, which asks nothing"
quietly apt-get install -y /srv/mysql-plugin-rowsocket_*.deb
check_secrets
man_page=/usr/share/man/man8/rowsocket-doctor.8.gz
[[ $(dpkg-query -S "$man_page") == mysql-plugin-rowsocket:* ]] || fail "the package has no man page of rowsocket-doctor"
# MySQL's clients of other users say that they may not read the file with the secrets, and go on.
setpriv --reuid=nobody --clear-groups mysql --print-defaults >/dev/null 2>&1 || fail "other clients cannot start"
check_found "nobody listens on handlersocket_port 9998"

say "a restart"
restart
check_session

say "rowsocket-setup: on a server that checks passwords, beside an option file that names another machine's server"
mysql -e "INSTALL COMPONENT 'file://component_validate_password'"
printf '[client]\nhost = 192.0.2.1\n' >"$HOME/.my.cnf"
quietly rowsocket-setup
quietly rowsocket-setup --example
rm "$HOME/.my.cnf"
mysql -e "UNINSTALL COMPONENT 'file://component_validate_password'"
restart
rowsocket-doctor --client >/srv/client || fail "rowsocket-doctor --client: $(cat /srv/client)"
grep -q "daemon_memcached_port 11211: served to every client" /srv/client && grep -q "resp_port 6379: served" /srv/client ||
  fail "$(cat /srv/client)"
[[ $(ask 6379 'HGET test.user:101 user_name\r\n' 2 | tail -n 1) == "Yukari Takeba" ]] ||
  fail "the RESP port does not serve what rowsocket-setup grants"
rm /etc/mysql/mysql.conf.d/rowsocket_setup.cnf
restart
check_session

say "UNINSTALL PLUGIN and INSTALL PLUGIN"
mysql -e "UNINSTALL PLUGIN handlersocket"
! (exec 3<>/dev/tcp/127.0.0.1/9998) 2>/dev/null || fail "the port is open still"
check_found "INSTALL PLUGIN handlersocket SONAME 'rowsocket.so'"
python3 -c "
import socket
with socket.create_server(('127.0.0.1', 9998)) as server:
    open('/srv/listens', 'w').close()
    with server.accept()[0] as client:
        client.sendall(b'another program')
" &
another=$!
while [[ ! -e /srv/listens ]]; do kill -0 "$another" || fail "no other program listens"; sleep 0.1; done
check_found "handlersocket_port 9998 is answered by something else"
wait "$another"
mysql -e "INSTALL PLUGIN handlersocket SONAME 'rowsocket.so'"
check_session

say "faults of the option files, each with its own finding"
chmod 644 "$load"
check_found "chmod 600 $load"
chmod 600 "$load"
chown root "$load"
check_found "chown mysql:root $load"
chown mysql "$load"
cp -p "$load" /srv/load
sed -i 's/^\(loose_handlersocket_plain_secret = \).*/\1changed/' "$load"
check_found "handlersocket_port 9998 refuses the secret"
sed 's/^\[mysqld\]/[mariadbd]/' /srv/load >"$load"
check_found "does not load rowsocket.so in a group that MySQL reads"
sed '/plain_secret_wr/d' /srv/load >"$load"
check_found "handlersocket_plain_secret_wr is not set"
cp -p /srv/load "$load"
/usr/share/rowsocket/rowsocket-enable --off
quietly apt-get install -y --reinstall /srv/mysql-plugin-rowsocket_*.deb
check_found "rowsocket-load.cnf is set aside"
/usr/share/rowsocket/rowsocket-enable
update-alternatives --set my.cnf /etc/mysql/my.cnf.fallback >/dev/null
check_found "update-alternatives --set my.cnf /etc/mysql/mysql.cnf"
update-alternatives --set my.cnf /etc/mysql/mysql.cnf >/dev/null
chmod o+w /etc/mysql/mysql.conf.d/rowsocket.cnf
check_found "chmod o-w /etc/mysql/mysql.conf.d/rowsocket.cnf"
chmod o-w /etc/mysql/mysql.conf.d/rowsocket.cnf
printf '[mysqld]\nplugin-load = semisync_source.so\n' >/etc/mysql/mysql.conf.d/zz.cnf
check_found "plugin_load in a file that is read after"
rm /etc/mysql/mysql.conf.d/zz.cnf
check_session

say "a socket that AppArmor's profile does not allow"
sed -i 's/^#\(loose_handlersocket_socket = \)/\1/' /etc/mysql/mysql.conf.d/rowsocket.cnf
restart
check_row /run/mysqld/handlersocket.sock ""
check_found "'/run/mysqld/handlersocket.sock rw,' to /etc/apparmor.d/local/usr.sbin.mysqld"
cp -p /etc/apparmor.d/local/usr.sbin.mysqld /srv/local
echo '/run/mysqld/handlersocket*.sock rw,' >>/etc/apparmor.d/local/usr.sbin.mysqld
check_session
cp -p /srv/local /etc/apparmor.d/local/usr.sbin.mysqld
sed -i 's/^\(loose_handlersocket_socket = \)/#\1/' /etc/mysql/mysql.conf.d/rowsocket.cnf
restart
check_session

say "a server that may open few files; one that does not run"
stop
# As a user of its own the server cannot raise the limit that it was given.
start "ulimit -n 4096; exec setpriv --reuid=mysql --regid=mysql --clear-groups mysqld"
check_found "the server may open 4096 files"
stop
check_found "systemctl start mysql"
start

say "the server is wanted in the version of the library, and the pin ends"
wants_version() { # prints the priority that apt gives to the installed version of the server
  LC_ALL=C apt-cache policy mysql-server-core | sed -n 's/^ \*\*\* [^ ]* \([0-9]*\)$/\1/p'
}
[[ $(wants_version) == 995 ]] || fail "apt does not keep the server at its version: $(apt-cache policy mysql-server-core)"
/usr/libexec/rowsocket/rowsocket-updates --unpin
[[ $(wants_version) != 995 ]] || fail "the pin does not end"
/usr/libexec/rowsocket/rowsocket-updates --pin

say "a library that is gone under the server's option files"
mv /usr/lib/mysql/plugin/rowsocket.so /srv/
restart
[[ $(mysql -Ne "SELECT left_over FROM shop.stock") == 42 ]] || fail "no rows without the library"
check_found "rowsocket.so is not there"

say "a library of another version"
LC_ALL=C sed 's/\x009\.7\.[0-9]*\x00/\x008.4.0\x00/g' /srv/rowsocket.so >/usr/lib/mysql/plugin/rowsocket.so
check_found "the libraries are for 8.4.0"
mv /srv/rowsocket.so /usr/lib/mysql/plugin/
restart
check_session

say "remove"
quietly apt-get remove -y mysql-plugin-rowsocket
! grep -q "keeps the library" /srv/log || fail "$(cat /srv/log)"
! (exec 3<>/dev/tcp/127.0.0.1/9999) 2>/dev/null || fail "the port is open still"
restart
[[ $(mysql -Ne "SELECT left_over FROM shop.stock; SELECT COUNT(*) FROM mysql.plugin WHERE dl = 'rowsocket.so'") == $'42\n0' ]] ||
  fail "the server is not as it was"

say "install again, then purge"
quietly apt-get install -y /srv/mysql-plugin-rowsocket_*.deb
restart
check_session
quietly apt-get purge -y mysql-plugin-rowsocket
list_files | diff /srv/before - >/srv/diff || [[ -z $(grep rowsocket /srv/diff) ]] ||
  fail "left behind: $(cat /srv/diff)"
stop
say "all is as it was"
