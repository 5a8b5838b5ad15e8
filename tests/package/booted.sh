#!/bin/bash
# The package on a machine that has booted with systemd, run there as a service of its own by scripts/test
# package: the service of the server restarts with the package's drop-in, and serves. Without a network, since
# all that the package needs is on the machine. The end of the script turns the machine off; /srv/booted.ok is
# there if every promise held, /srv/booted.log says what was done.
set -euo pipefail
exec >/srv/booted.log 2>&1
trap 'systemctl --no-block poweroff' EXIT
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 HOME=/root

fail() { printf 'FAILED: %s\n' "$*"; systemctl --no-pager status mariadb || true; exit 1; }
open_files() { awk '/^Max open files/ { print $4 }' "/proc/$(systemctl show --property MainPID --value mariadb)/limits"; }
# What systemd is told, and no more than the machine itself may have.
allowed() {
  local limit hard
  limit=$(systemctl show --property LimitNOFILE --value mariadb)
  hard=$(awk '/^Max open files/ { print $5 }' /proc/1/limits)
  printf '%s\n' "$((limit < hard ? limit : hard))"
}
restart() { systemctl restart mariadb || fail "mariadb.service does not start"; }

restart
as_shipped=$(systemctl show --property LimitNOFILE --value mariadb)
before=$(open_files)
apt-get install -y /srv/mariadb-plugin-rowsocket_*.deb
[[ $(open_files) == "$before" ]] || fail "the installation has touched the running server"
restart
[[ $(systemctl show --property LimitNOFILE --value mariadb) == 131072 ]] || fail "systemd does not read the drop-in"
[[ $(open_files) == "$(allowed)" ]] || fail "the server may open $(open_files) files, not $(allowed)"
mariadb -e "CREATE DATABASE booted; CREATE TABLE booted.stock (id INT PRIMARY KEY, left_over INT) ENGINE=InnoDB;
  INSERT INTO booted.stock VALUES (7, 42)"
secret=$(sed -n 's/^loose_handlersocket_plain_secret = //p' /etc/mysql/mariadb.conf.d/rowsocket-load.cnf)
exec 3<>/dev/tcp/127.0.0.1/9998
printf 'A\t1\t%s\nP\t0\tbooted\tstock\tPRIMARY\tleft_over\n0\t=\t1\t7\n' "$secret" >&3
row=$(head -n 3 <&3 | tail -n 1)
[[ $row == $'0\t1\t42' ]] || fail "the reading port answers '$row'"
exec 3>&-
rowsocket-doctor || fail "rowsocket-doctor finds something"
# What `systemctl edit mariadb` writes counts more than the package's drop-in.
mkdir -p /etc/systemd/system/mariadb.service.d
printf '[Service]\nLimitNOFILE=20000\n' >/etc/systemd/system/mariadb.service.d/override.conf
systemctl daemon-reload
[[ $(systemctl show --property LimitNOFILE --value mariadb) == 20000 ]] || fail "the package's drop-in beats override.conf"
rm /etc/systemd/system/mariadb.service.d/override.conf
systemctl daemon-reload
apt-get purge -y mariadb-plugin-rowsocket
restart
[[ $(systemctl show --property LimitNOFILE --value mariadb) == "$as_shipped" && $as_shipped != 131072 ]] ||
  fail "purge has left the drop-in"
touch /srv/booted.ok
