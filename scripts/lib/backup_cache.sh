# shellcheck shell=bash disable=SC2154 # reads what lib.sh sets
# Obtains mariadb-backup of the server's own version, with which a node that joins a Galera cluster can copy
# the data of another node. Sourced by cluster, after lib.sh, known_servers.sh, private_apt.sh and
# server_cache.sh.
#
# $store_dir/backup-VERSION/prefix/usr/bin/mariadb-backup

backup_dir() { echo "$store_dir/backup-${ROWSOCKET_SERVER_PACKAGE#*:}"; }
backup_programs() { echo "$(backup_dir)/prefix/usr/bin"; }

download_backup() {
  if [[ $(private_apt apt-cache madison mariadb-backup) == *" $ROWSOCKET_SERVER_PACKAGE "* ]]; then
    private_apt apt-get download "mariadb-backup=$ROWSOCKET_SERVER_PACKAGE"
  elif [[ $ROWSOCKET_SERVER_PACKAGE == "$(known_version)" ]]; then
    download_known backup "$PWD" "$(private_pool)"
  else
    echo "Debian's lists do not offer mariadb-backup $ROWSOCKET_SERVER_PACKAGE any more"
    return 1
  fi
}

unpack_backup() {
  local folder
  folder=$(backup_dir).partial
  rm -rf "$folder" &&
    mkdir -p "$folder" &&
    (cd "$folder" && download_backup && dpkg -x mariadb-backup_*.deb prefix && rm -f mariadb-backup_*.deb) &&
    (cd -P "$(server_link)" && use_libraries_beside "$folder/prefix" prefix) &&
    chmod -R a+rX "$folder" &&
    mv -T "$folder" "$(backup_dir)"
}

# Another process may make the cache at the same time: the second process finds it complete.
make_backup_cache() {
  [[ ! -x $(backup_programs)/mariadb-backup ]] || return 0
  exec 9>"$store_dir/lock"
  flock 9
  if [[ ! -x $(backup_programs)/mariadb-backup ]]; then
    prepare_private_apt "${server_release[$server_name]}"
    run_step "downloading mariadb-backup $ROWSOCKET_SERVER_PACKAGE" "$apt_dir/log" unpack_backup ||
      die "mariadb-backup $ROWSOCKET_SERVER_PACKAGE cannot be downloaded; is the network up?"
    rm -rf "$apt_dir"
  fi
  exec 9>&-
}
