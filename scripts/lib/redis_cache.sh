# shellcheck shell=bash disable=SC2154 # reads what bootstrap sets
# Obtains, once, the tests that come with Redis's source, which the live tests run against the RESP port. Sourced by
# bootstrap, after private_apt.sh; the caller holds the lock.
#
# $cache_dir/redis-VERSION.RECIPE/
#                             source/   tests/ of Redis
#                             env       written last: where it exists, everything is there
# $cache_dir/redis            link to the version in use
# The files come from Debian, checked against its signed lists; they are no part of this repository.

# Raise this number when a change below makes other caches.
redis_recipe=1
# The one that has Redis 7.0.
redis_release=bookworm

redis_is_there() {
  grep -qsx "ROWSOCKET_REDIS_RECIPE=$redis_recipe" "$cache_dir/redis/env"
}

redis_versions() {
  private_apt apt-cache madison redis-server | awk -F' *\\| *' '{ print $2 }' | grep -E '^5:7\.0\.' | sort -Vru
}

download_redis() {
  (cd "$apt_dir/source" && private_apt apt-get source --download-only "redis=$1")
}

make_redis_cache() {
  local version versions folder tarballs
  prepare_private_apt "$redis_release"
  mapfile -t versions < <(redis_versions)
  for version in "${versions[@]}"; do
    run_step "downloading the source of redis $version" "$apt_dir/log" download_redis "$version" 2>/dev/null || continue
    folder=$cache_dir/redis-${version#*:}.$redis_recipe
    rm -rf "$folder" && mkdir -p "$folder/source"
    tarballs=("$apt_dir"/source/redis_*.orig.tar.*z)
    tar --no-same-owner --strip-components=1 -C "$folder/source" --wildcards -xf "${tarballs[0]}" '*/tests' ||
      die "the source of redis $version could not be unpacked"
    printf '%s\n' "ROWSOCKET_REDIS_RECIPE=$redis_recipe" "ROWSOCKET_REDIS_SOURCE=$folder/source" >"$folder/env.partial"
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
