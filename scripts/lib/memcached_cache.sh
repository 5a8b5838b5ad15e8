# shellcheck shell=bash disable=SC2154 # reads what bootstrap sets
# Obtains, once, a real memcached to compare with, and the test files of its source. Sourced by
# bootstrap, after private_apt.sh; the caller holds the lock.
#
# $cache_dir/memcached-VERSION.RECIPE/
#                             prefix/   Debian's binary, unpacked: as a package it would start a
#                                       service on the port that everybody uses
#                             source/   t/ with memcached's own tests
#                             env       written last: if it exists, everything is there
# $cache_dir/memcached        link to the version in use
# The files come from Debian, checked against its signed lists; they are no part of this repository.

# Raise this number when a change below makes other caches.
memcached_recipe=1

memcached_is_there() {
  grep -qsx "ROWSOCKET_MEMCACHED_RECIPE=$memcached_recipe" "$cache_dir/memcached/env"
}

memcached_versions() {
  private_apt apt-cache madison memcached | awk -F' *\\| *' '{ print $2 }' | grep -E '^1\.6\.' |
    sort -Vru
}

download_memcached() {
  (cd "$apt_dir/source" && private_apt apt-get source --download-only "memcached=$1") &&
    (cd "$apt_dir/debs" && rm -f memcached_*.deb && private_apt apt-get download "memcached=$1")
}

unpack_memcached() {
  local debs=("$apt_dir"/debs/memcached_*.deb)
  local tarballs=("$apt_dir"/source/memcached_*.orig.tar.*z)
  rm -rf prefix source && mkdir source &&
    dpkg -x "${debs[0]}" prefix &&
    tar --no-same-owner --strip-components=1 -C source -xf "${tarballs[0]}"
}

make_memcached_cache() {
  local version versions folder
  prepare_private_apt "$compared_release"
  mapfile -t versions < <(memcached_versions)
  ((${#versions[@]})) || die "Debian's lists offer no memcached 1.6"
  for version in "${versions[@]}"; do
    if run_step "downloading memcached $version and its source" "$apt_dir/log" \
      download_memcached "$version" 2>/dev/null; then
      folder=$cache_dir/memcached-$version.$memcached_recipe
      mkdir -p "$folder"
      cd "$folder" || die "cannot enter $folder"
      unpack_memcached || die "memcached $version could not be unpacked"
      printf '%s\n' "ROWSOCKET_MEMCACHED_RECIPE=$memcached_recipe" \
        "ROWSOCKET_MEMCACHED_VERSION=${version%%-*}" \
        "ROWSOCKET_MEMCACHED=$folder/prefix/usr/bin/memcached" \
        "ROWSOCKET_MEMCACHED_SOURCE=$folder/source" >env.partial
      chmod -R a+rX .
      mv env.partial env
      ln -sfn "$folder" "$cache_dir/memcached.partial"
      mv -T "$cache_dir/memcached.partial" "$cache_dir/memcached"
      rm -rf "$apt_dir"
      return
    fi
  done
  tail -n 20 "$apt_dir/log" >&2
  die "no memcached 1.6 whose source can be downloaded; is the network up?"
}
