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

# all_of VERSION: whether every installed package of the server's source has that version.
all_of() {
  local versions
  versions=$(dpkg-query -W -f '${source:Package} ${db:Status-Status} ${Version}\n' | sed -n 's/^mariadb installed //p' | sort -u)
  [[ $versions == "$1" ]] || fail "packages of the server have different versions: $versions; wanted: $1"
}

# served_after WHAT VERSION: the server starts, in that version, and its ports serve.
served_after() {
  all_of "$2"
  restart
  check_session
  say "$1: the server is $2, starts, serves"
}

say "rowsocket-setup: every protocol for clients of this machine"
quietly apt-get install -y php-cli php-memcached python3-pymemcache python3-redis
# The file names another machine's server, which is not the one to set up.
printf '[client]\nhost = 192.0.2.1\n' >"$HOME/.my.cnf"
quietly rowsocket-setup --member www-data --example
rm "$HOME/.my.cnf"
restart
rowsocket-doctor --client >/srv/client || fail "rowsocket-doctor --client: $(cat /srv/client)"
grep -q "handlersocket_port 9998: served to clients whose first line is" /srv/client &&
  grep -q "daemon_memcached_port 11211: served to every client" /srv/client || fail "$(cat /srv/client)"
# over_resp COMMAND: the first line of the answer, and of a text the text's.
over_resp() {
  exec 3<>/dev/tcp/127.0.0.1/6379
  printf '%s\r\n' "$1" >&3
  local kind
  IFS= read -r -t 10 kind <&3
  [[ $kind != \$* ]] || IFS= read -r -t 10 kind <&3
  exec 3>&-
  printf '%s' "${kind%$'\r'}"
}
[[ $(over_resp "HGET test.user:101 user_name") == "Yukari Takeba" && $(over_resp "SET k v EX 9") == +OK ]] ||
  fail "the RESP port does not serve what rowsocket-setup grants"
[[ $(over_resp "HGET innodb_memcache.containers:user db_schema") == "-NOPERM "* ]] ||
  fail "the RESP port serves more than rowsocket-setup grants"
mariadb -e "UPDATE innodb_memcache.containers SET value_columns = 'user_name' WHERE name = 'user'"
quietly rowsocket-setup --example
[[ $(mariadb -Ne "SELECT value_columns FROM innodb_memcache.containers WHERE name = 'user'") == user_name ]] ||
  fail "rowsocket-setup --example writes over a container of its administrator"
mariadb -e "UPDATE innodb_memcache.containers SET value_columns = 'user_name,user_email,created' WHERE name = 'user'"
# The loader of the package shows the server each plugin of the library that it opens.
for table in CONNECTIONS HOT_ROWS LATENCY TABLE_STATISTICS USER_STATISTICS; do
  mariadb -e "SELECT * FROM information_schema.ROWSOCKET_$table" >/srv/table ||
    fail "information_schema.ROWSOCKET_$table is not there"
done
setpriv --reuid=www-data --init-groups grep -q '^reading [0-9a-f]' /etc/rowsocket/secrets || fail "www-data cannot read the secrets"
! setpriv --reuid=nobody --clear-groups cat /etc/rowsocket/secrets 2>/dev/null || fail "others read the secrets"
python3 /srv/checkout/tests/package/examples.py mariadb || fail "an example of a document does not work"
mariadb -e "DROP DATABASE shop; CREATE DATABASE shop; CREATE TABLE shop.stock (id INT PRIMARY KEY, left_over INT) ENGINE=InnoDB;
  INSERT INTO shop.stock VALUES (7, 42)"
rm /etc/mysql/mariadb.conf.d/rowsocket_setup.cnf
restart
check_session

before=$(dpkg-query -W -f '${Version}' mariadb-server-core)
companions=(/srv/companions/*.deb)
[[ -e ${companions[0]} ]] || companions=(mariadb-backup mariadb-plugin-connect mariadb-plugin-s3 mariadb-plugin-rocksdb
  mariadb-plugin-cracklib-password-check mariadb-plugin-gssapi-server)
quietly apt-get install -y unattended-upgrades "${companions[@]}"
all_of "$before"
[[ -z $security ]] || echo "deb $security $suite-security main" >/etc/apt/sources.list.d/security.list
quietly apt-get update
newer=$(apt-cache -o Dir::Etc::PreferencesParts=/dev/null policy mariadb-server-core | sed -n 's/ *Candidate: //p')
if [[ ${newer%-*} == "${before%-*}" ]]; then
  [[ -z $security ]] || fail "no newer server is offered"
else
  # Debian's release notes name this setting, which gives every version of the release a priority of its own.
  echo "APT::Default-Release \"/^$suite(|-security|-updates)$/\";" >/etc/apt/apt.conf.d/99default-release
  for upgrade in "apt upgrade -y" "apt full-upgrade -y" "unattended-upgrade" \
    "apt-get install -y --only-upgrade mariadb-server mariadb-plugin-provider-bzip2"; do
    $upgrade >/srv/upgrade 2>&1 </dev/null || fail "$(tail /srv/upgrade)"
    [[ $upgrade == unattended-upgrade ]] || grep -q "$newer is kept back until" /srv/upgrade ||
      fail "$upgrade does not say why: $(cat /srv/upgrade)"
    served_after "$upgrade" "$before"
  done
  rowsocket-doctor | grep -q "Note: .*$newer is kept back until" || fail "rowsocket-doctor does not say what waits"

  say "after a day the server is upgraded: it starts, and the ports say why they are closed"
  /usr/libexec/rowsocket/rowsocket-updates --check >/dev/null
  sed -i 's/^[0-9]*/1700000000/' /var/lib/rowsocket/newer-server
  /usr/libexec/rowsocket/rowsocket-updates --check | grep -q "no longer kept back" || fail "nobody says that the time is over"
  apt-get upgrade -y >/srv/upgrade 2>&1 </dev/null || fail "$(tail /srv/upgrade)"
  all_of "$newer"
  restart
  [[ $(mariadb -Ne "SELECT left_over FROM shop.stock") == 42 ]] || fail "no rows after the upgrade"
  ! (exec 3<>/dev/tcp/127.0.0.1/9998) 2>/dev/null || fail "a library of another version serves"
  rowsocket-doctor >/srv/doctor && fail "rowsocket-doctor finds nothing"
  grep -q "the libraries are for" /srv/doctor || fail "$(cat /srv/doctor)"

  say "the package on the newer server ends with a sentence of advice"
  quietly apt-get install -y --reinstall /srv/mariadb-plugin-rowsocket_*.deb
  grep -q "Rowsocket: this package has no library for the installed server" /srv/log || fail "$(cat /srv/log)"
  [[ ! -e /etc/apt/preferences.d/rowsocket.pref ]] || fail "a server without a library is pinned"
  # It is not installed, so that its candidate is what a pin would have chosen.
  [[ $(apt-cache policy libmariadb-dev | sed -n 's/ *Candidate: //p') == "$newer" ]] ||
    fail "packages of another version would stand beside the server: $(apt-cache policy libmariadb-dev)"

  if [[ $(apt-cache madison mariadb-server-core) == *" $before "* ]]; then
    say "back, by the commands that rowsocket-doctor prints"
    sed -nE 's/^ *(apt-get install --allow-downgrades)/\1 -y/; /^ *(apt-get install|[^ ]*rowsocket-updates --pin)/p' \
      /srv/doctor >/srv/back
    quietly bash -e /srv/back
    served_after "the downgrade" "$before"
    [[ -e /etc/apt/preferences.d/rowsocket.pref ]] || fail "the way back does not keep the server"
  else
    say "back, by the files of that version, which apt does not offer any more"
    quietly apt-get install -y --allow-downgrades /srv/server/*.deb /srv/companions/*.deb
    served_after "the downgrade" "$before"
  fi
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
! grep -q "keeps the library" /srv/log || fail "$(cat /srv/log)"
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
