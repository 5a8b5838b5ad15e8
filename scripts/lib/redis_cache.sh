# shellcheck shell=bash disable=SC2154 # reads what bootstrap sets
# Obtains, once, a Redis with which the live tests compare the RESP port, and the tests that come with Redis's source.
# Sourced by bootstrap, after private_apt.sh; the caller holds the lock.
#
# $cache_dir/redis-VERSION.RECIPE/
#                             prefix/   Debian's programs, and the libraries that a machine without a Redis may lack
#                             source/   tests/ of Redis
#                             env       written last: if it exists, everything is there
# $cache_dir/redis            link to the version in use
# The files come from Debian, checked against its signed lists; they are no part of this repository.

# Raise this number when a change below makes other caches.
redis_recipe=2
redis_libraries=(libatomic1 libjemalloc2 liblzf1)

redis_is_there() {
  grep -qsx "ROWSOCKET_REDIS_RECIPE=$redis_recipe" "$cache_dir/redis/env"
}

redis_versions() {
  private_apt apt-cache madison redis-server | awk -F' *\\| *' '{ print $2 }' | grep -E '^5:7\.0\.' | sort -Vru
}

download_redis() {
  (cd "$apt_dir/source" && private_apt apt-get source --download-only "redis=$1") &&
    (cd "$apt_dir/debs" && rm -f ./*.deb && private_apt apt-get download "redis-server=$1" "redis-tools=$1" \
      "${redis_libraries[@]/%//$compared_release}")
}

make_redis_cache() {
  local version versions folder tarballs deb
  prepare_private_apt "$compared_release"
  mapfile -t versions < <(redis_versions)
  for version in "${versions[@]}"; do
    run_step "downloading redis $version and its source" "$apt_dir/log" download_redis "$version" 2>/dev/null || continue
    folder=$cache_dir/redis-${version#*:}.$redis_recipe
    rm -rf "$folder" && mkdir -p "$folder/source"
    tarballs=("$apt_dir"/source/redis_*.orig.tar.*z)
    tar --no-same-owner --strip-components=1 -C "$folder/source" --wildcards -xf "${tarballs[0]}" '*/tests' ||
      die "the source of redis $version could not be unpacked"
    for deb in "$apt_dir"/debs/*.deb; do
      dpkg -x "$deb" "$folder/prefix" || die "$(basename "$deb") could not be unpacked"
    done
    printf '%s\n' "ROWSOCKET_REDIS_RECIPE=$redis_recipe" "ROWSOCKET_REDIS_SOURCE=$folder/source" \
      "ROWSOCKET_REDIS=$folder/prefix" >"$folder/env.partial"
    chmod -R a+rX "$folder"
    mv "$folder/env.partial" "$folder/env"
    ln -sfn "$folder" "$cache_dir/redis.partial"
    mv -T "$cache_dir/redis.partial" "$cache_dir/redis"
    rm -rf "$apt_dir"
    return
  done
  [[ ! -e $apt_dir/log ]] || tail -n 20 "$apt_dir/log" >&2
  die "no redis 7.0 whose source can be downloaded; is the network up?"
}
