# shellcheck shell=bash disable=SC2154 # reads what bootstrap sets
# Obtains, once, Prometheus, promtool and the exporter for Redis, with which the tests check alerts, the dashboard and
# INFO. Sourced by bootstrap, after private_apt.sh; the caller holds the lock.
#
# $cache_dir/prometheus-VERSION.RECIPE/
#                             prefix/   Debian's programs, unpacked: the package would start a service on the
#                                       port that everybody uses
#                             env       written last: if it exists, everything is there
# $cache_dir/prometheus       link to the version in use

# Raise this number when a change below makes other caches.
prometheus_recipe=2

prometheus_is_there() {
  grep -qsx "ROWSOCKET_PROMETHEUS_RECIPE=$prometheus_recipe" "$cache_dir/prometheus/env"
}

download_prometheus() {
  (cd "$apt_dir/debs" && rm -f prometheus*.deb && private_apt apt-get download prometheus prometheus-redis-exporter)
}

make_prometheus_cache() {
  local debs deb version folder
  prepare_private_apt "$compared_release"
  run_step "downloading prometheus" "$apt_dir/log" download_prometheus || {
    tail -n 20 "$apt_dir/log" >&2
    die "prometheus cannot be downloaded; is the network up?"
  }
  debs=("$apt_dir"/debs/prometheus_*.deb)
  version=$(dpkg-deb -f "${debs[0]}" Version)
  folder=$cache_dir/prometheus-$version.$prometheus_recipe
  rm -rf "$folder" && mkdir -p "$folder"
  for deb in "$apt_dir"/debs/prometheus*.deb; do
    dpkg -x "$deb" "$folder/prefix" || die "$(basename "$deb") could not be unpacked"
  done
  printf '%s\n' "ROWSOCKET_PROMETHEUS_RECIPE=$prometheus_recipe" \
    "ROWSOCKET_PROMETHEUS=$folder/prefix/usr/bin/prometheus" \
    "ROWSOCKET_PROMTOOL=$folder/prefix/usr/bin/promtool" \
    "ROWSOCKET_REDIS_EXPORTER=$folder/prefix/usr/bin/prometheus-redis-exporter" >"$folder/env.partial"
  chmod -R a+rX "$folder"
  mv "$folder/env.partial" "$folder/env"
  ln -sfn "$folder" "$cache_dir/prometheus.partial"
  mv -T "$cache_dir/prometheus.partial" "$cache_dir/prometheus"
  rm -rf "$apt_dir"
}
