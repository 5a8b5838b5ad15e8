# shellcheck shell=bash disable=SC2154 # reads what bootstrap sets
# Obtains, once, Prometheus and promtool, by which the tests judge alerts and the dashboard. Sourced by
# bootstrap, after private_apt.sh; the caller holds the lock.
#
# $cache_dir/prometheus-VERSION.RECIPE/
#                             prefix/   Debian's programs, unpacked: the package would start a service on the
#                                       port that everybody uses
#                             env       written last: where it exists, everything is there
# $cache_dir/prometheus       link to the version in use

# Raise this number when a change below makes other caches.
prometheus_recipe=1

prometheus_is_there() {
  grep -qsx "ROWSOCKET_PROMETHEUS_RECIPE=$prometheus_recipe" "$cache_dir/prometheus/env"
}

download_prometheus() { (cd "$apt_dir/debs" && rm -f prometheus_*.deb && private_apt apt-get download prometheus); }

make_prometheus_cache() {
  local deb version folder
  prepare_private_apt
  run_step "downloading prometheus" "$apt_dir/log" download_prometheus || {
    tail -n 20 "$apt_dir/log" >&2
    die "prometheus cannot be downloaded; is the network up?"
  }
  deb=("$apt_dir"/debs/prometheus_*.deb)
  version=$(dpkg-deb -f "${deb[0]}" Version)
  folder=$cache_dir/prometheus-$version.$prometheus_recipe
  rm -rf "$folder" && mkdir -p "$folder"
  dpkg -x "${deb[0]}" "$folder/prefix" || die "prometheus $version could not be unpacked"
  printf '%s\n' "ROWSOCKET_PROMETHEUS_RECIPE=$prometheus_recipe" \
    "ROWSOCKET_PROMETHEUS=$folder/prefix/usr/bin/prometheus" \
    "ROWSOCKET_PROMTOOL=$folder/prefix/usr/bin/promtool" >"$folder/env.partial"
  chmod -R a+rX "$folder"
  mv "$folder/env.partial" "$folder/env"
  ln -sfn "$folder" "$cache_dir/prometheus.partial"
  mv -T "$cache_dir/prometheus.partial" "$cache_dir/prometheus"
  rm -rf "$apt_dir"
}
