# shellcheck shell=bash disable=SC2154 # reads what lib.sh sets
# Obtains the programs that nodes of a Galera cluster need beside the server: Debian's Galera provider,
# unpacked into the cache, and rsync, with which a new node copies the data of another node. Sourced by
# cluster, after lib.sh, packages.sh and private_apt.sh.
#
# $store_dir/galera/root/usr/lib/galera/libgalera_smm.so

galera_provider() { echo "$store_dir/galera/root/usr/lib/galera/libgalera_smm.so"; }

unpack_galera() {
  rm -rf "$store_dir/galera.partial" &&
    mkdir -p "$store_dir/galera.partial" &&
    (cd "$store_dir/galera.partial" && private_apt apt-get download galera-4 &&
      dpkg -x galera-4_*.deb root && rm -f galera-4_*.deb) &&
    chmod -R a+rX "$store_dir/galera.partial" &&
    mv -T "$store_dir/galera.partial" "$store_dir/galera"
}

# Another process may make the cache at the same time: the second process finds it complete.
make_galera_cache() {
  [[ ! -r $(galera_provider) ]] || return 0
  mkdir -p "$store_dir"
  exec 9>"$store_dir/lock"
  flock 9
  if [[ ! -r $(galera_provider) ]]; then
    prepare_private_apt
    run_step "downloading Galera's provider" "$apt_dir/log" unpack_galera ||
      die "the package galera-4 cannot be downloaded; is the network up?"
    rm -rf "$apt_dir"
  fi
  exec 9>&-
}
