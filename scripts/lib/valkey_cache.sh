# shellcheck shell=bash disable=SC2154 # reads what bootstrap sets
# Obtains, once, a Valkey for scripts/bench --resp: Debian 12 has none, so it comes from a later release, together with
# that release's libraries. Sourced by bootstrap, after server_cache.sh; the caller holds the lock.
#
# $cache_dir/valkey-VERSION.RECIPE/
#                             prefix/   Debian's program and its libraries, unpacked
#                             env       written last: if it exists, everything is there
# $cache_dir/valkey           link to the version in use

# Raise this number when a change below makes other caches.
valkey_recipe=1
valkey_release=trixie
valkey_packages=(valkey-tools valkey-server libc6 libatomic1 libcap2 libgcc-s1 libjemalloc2 liblua5.1-0 liblzf1
  liblzma5 libssl3t64 libstdc++6 libsystemd0 libzstd1 zlib1g)

valkey_is_there() {
  grep -qsx "ROWSOCKET_VALKEY_RECIPE=$valkey_recipe" "$cache_dir/valkey/env"
}

download_valkey() {
  (cd "$apt_dir/debs" && private_apt apt-get download "${valkey_packages[@]/%//$valkey_release}")
}

make_valkey_cache() {
  local debs deb version folder
  prepare_private_apt "$valkey_release"
  run_step "downloading valkey" "$apt_dir/log" download_valkey || {
    tail -n 20 "$apt_dir/log" >&2
    die "valkey cannot be downloaded; is the network up?"
  }
  debs=("$apt_dir"/debs/valkey-server_*.deb)
  version=$(dpkg-deb -f "${debs[0]}" Version)
  folder=$cache_dir/valkey-$version.$valkey_recipe
  rm -rf "$folder" && mkdir -p "$folder"
  cd "$folder" || die "cannot enter $folder"
  for deb in "$apt_dir"/debs/*.deb; do
    dpkg -x "$deb" prefix || die "$(basename "$deb") could not be unpacked"
  done
  use_own_libraries prefix prefix
  [[ $(prefix/usr/bin/valkey-server --version) == *v=* ]] || die "valkey $version does not run here"
  printf '%s\n' "ROWSOCKET_VALKEY_RECIPE=$valkey_recipe" "ROWSOCKET_VALKEY_VERSION=${version%%-*}" \
    "ROWSOCKET_VALKEY=$folder/prefix/usr/bin/valkey-server" >env.partial
  chmod -R a+rX .
  mv env.partial env
  ln -sfn "$folder" "$cache_dir/valkey.partial"
  mv -T "$cache_dir/valkey.partial" "$cache_dir/valkey"
  rm -rf "$apt_dir"
}
