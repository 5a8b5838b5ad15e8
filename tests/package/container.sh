#!/bin/bash
# The image of packaging/Containerfile, built and started: run by scripts/test package as root, with podman.
# The container has a network namespace of its own with nothing but loopback, and no capability.
#
#   container.sh STORE BASE.tar DIST   STORE: a folder for podman's own files; BASE.tar: the files of a machine
#                                      of the distribution; DIST: the packages
set -euo pipefail
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
store=$1 base=$2 dist=$3
name=rowsocket-test-$$

podman() {
  command podman --root "$store/images" --runroot "$store/run" --storage-driver vfs --cgroup-manager cgroupfs \
    --runtime runc "$@"
}
fail() { printf 'FAILED: %s\n' "$*" >&2; podman logs --tail 20 "$name" >&2 || true; exit 1; }
# shellcheck disable=SC2317 # called by the trap
clean() {
  podman rm --force --volumes --time 5 "$name" >/dev/null 2>&1 || true
  podman volume rm --force "$name" >/dev/null 2>&1 || true
}
trap clean EXIT

podman import --quiet "$base" localhost/rowsocket-base >/dev/null
podman build --quiet --isolation chroot --network host --build-arg BASE=localhost/rowsocket-base \
  --tag localhost/rowsocket-test --file "$here/../../packaging/Containerfile" "$dist" >/dev/null
# podman would raise these limits, which not every machine allows.
options=(--network none --ulimit nofile=16384:16384 --ulimit nproc=4096:4096 --cap-drop all
  --security-opt no-new-privileges --volume "$name:/var/lib/mysql")
# What a first start leaves that is cut short.
podman run --rm "${options[@]}" localhost/rowsocket-test \
  sh -c 'cd /var/lib/mysql && mkdir -p .making/mysql && touch .making/ibdata1 .making/mysql/half' >/dev/null
podman run --detach --name "$name" "${options[@]}" localhost/rowsocket-test >/dev/null

inside() { podman exec "$name" "$@"; }
wait_for_the_server() {
  local tries
  for ((tries = 0; tries < 600; ++tries)); do
    ! inside mariadb-admin ping >/dev/null 2>&1 || return 0
    sleep 0.2
  done
  fail "the server of the image does not start"
}
wait_for_the_server
inside sh -c '[ ! -e /var/lib/mysql/.making ] && [ ! -e /var/lib/mysql/mysql/half ] && [ -d /var/lib/mysql/mysql ]' ||
  fail "a first start that was cut short is not made anew"
[[ $(inside id -un) == mysql ]] || fail "the image runs as another user than mysql"

podman exec --user root "$name" mariadb -e "CREATE DATABASE shop; CREATE TABLE shop.stock (id INT PRIMARY KEY, left_over INT) ENGINE=InnoDB;
  INSERT INTO shop.stock VALUES (7, 42)"
# shellcheck disable=SC2016 # expanded in the container
row=$(inside bash -c '
  secret=$(sed -n "s/^loose_handlersocket_plain_secret = //p" /etc/mysql/mariadb.conf.d/rowsocket-load.cnf)
  exec 3<>/dev/tcp/127.0.0.1/9998
  printf "A\t1\t%s\nP\t0\tshop\tstock\tPRIMARY\tleft_over\n0\t=\t1\t7\n" "$secret" >&3
  head -n 3 <&3 | tail -n 1')
[[ $row == $'0\t1\t42' ]] || fail "the reading port of the container answers '$row'"
# shellcheck disable=SC2016 # expanded in the container
row=$(inside bash -c 'exec 3<>/dev/tcp/127.0.0.1/9998; printf "P\t0\tshop\tstock\tPRIMARY\tleft_over\n" >&3; head -n 1 <&3')
[[ $row == *unauth* ]] || fail "the reading port of the container serves without its secret: '$row'"
podman restart --time 60 "$name" >/dev/null
wait_for_the_server
[[ $(podman exec --user root "$name" mariadb --skip-column-names -e "SELECT left_over FROM shop.stock") == 42 ]] ||
  fail "the data is not there behind the second start"
printf -- '- an image of packaging/Containerfile serves a row, as mysql and without a capability\n'
