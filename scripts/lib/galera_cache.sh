# shellcheck shell=bash disable=SC2154 # reads what lib.sh sets
# Obtains the provider that nodes of a Galera cluster load, from the release of Debian that has the server, unpacked
# into the cache. Sourced by cluster, after lib.sh and private_apt.sh.
#
# $store_dir/galera-RELEASE/prefix/usr/lib/galera/libgalera_smm.so

galera_dir() { echo "$store_dir/galera-${server_release[$server_name]}"; }
galera_provider() { echo "$(galera_dir)/prefix/usr/lib/galera/libgalera_smm.so"; }

unpack_galera() {
  local folder
  folder=$(galera_dir).partial
  rm -rf "$folder" &&
    mkdir -p "$folder" &&
    (cd "$folder" && private_apt apt-get download "galera-4/${server_release[$server_name]}" &&
      dpkg -x galera-4_*.deb prefix && rm -f galera-4_*.deb) &&
    chmod -R a+rX "$folder" &&
    mv -T "$folder" "$(galera_dir)"
}

# Another process may make the cache at the same time: the second process finds it complete.
make_galera_cache() {
  [[ ! -r $(galera_provider) ]] || return 0
  mkdir -p "$store_dir"
  exec 9>"$store_dir/lock"
  flock 9
  if [[ ! -r $(galera_provider) ]]; then
    prepare_private_apt "${server_release[$server_name]}"
    run_step "downloading Galera's provider" "$apt_dir/log" unpack_galera ||
      die "the package galera-4 cannot be downloaded; is the network up?"
    rm -rf "$apt_dir"
  fi
  exec 9>&-
}
