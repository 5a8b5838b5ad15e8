# shellcheck shell=bash disable=SC2154 # shares its variables with bootstrap
# Makes the cache of MySQL, as server_cache.sh makes MariaDB's. Sourced by bootstrap, after
# server_cache.sh; the caller holds the lock.
#
# Debian's package mysql-source holds the source as Debian has configured it, so that nothing is
# configured or generated here: source/ has the headers of the tree, build/ what CMake has made and what
# libmysqlclient-dev has beside it. Both come from Debian sid, which drops a version when the next one
# comes: the cache keeps what is used.

mysql_binaries=(mysql-server-core mysql-client-core)
mysql_headers=(mysql-source libmysqlclient-dev)

# The libraries that the server's programs and plugins load in sid.
mysql_libraries=(libaio1t64 libbsd0 libc6 libedit2 libgcc-s1 libgoogle-perftools4t64 libicu78 liblz4-1
  liblzma5 libmd0 libnuma1 libprotobuf-lite32t64 libprotobuf32t64 libssl3t64 libstdc++6
  libtcmalloc-minimal4t64 libtinfo6 libtirpc3t64 libunwind8 libxxhash0 libzstd1 zlib1g)

# The folders of the source with headers that the library includes, or that these include.
mysql_source_folders=(include sql sql-common libs vector-common strings mysys storage/perfschema
  extra/rapidjson/include extra/unordered_dense)

pick_mysql_version() {
  package_version=$(private_apt apt-cache madison mysql-source | awk -F' *\\| *' '{ print $2 }' |
    grep -F "${server_name#*-}." | sort -Vr | head -n 1) || true
  [[ -n $package_version ]] || die "Debian's lists offer no MySQL ${server_name#*-}"
}

download_mysql() { # PACKAGE...
  local name wanted=()
  for name; do
    wanted+=("$name=$package_version")
  done
  cd "$apt_dir/debs" && private_apt apt-get download "${wanted[@]}"
}

download_mysql_libraries() {
  cd "$apt_dir/debs" && private_apt apt-get download "${mysql_libraries[@]/%//sid}"
}

unpack_mysql_headers() {
  local archive=$apt_dir/source/usr/src/mysql/mysql-source.tar.gz top=mysql-${server_name#*-} folders
  folders=("${mysql_source_folders[@]/#/$top/}" "$top/builddir/include" "$top/MYSQL_VERSION")
  dpkg -x "$apt_dir"/debs/mysql-source_*.deb "$apt_dir/source" &&
    dpkg -x "$apt_dir"/debs/libmysqlclient-dev_*.deb "$apt_dir/source" &&
    mkdir source.partial &&
    tar --no-same-owner --strip-components=1 --exclude='*.cc' --exclude='*.c' -C source.partial \
      -xf "$archive" "${folders[@]}" &&
    mv source.partial/builddir build.partial && rm -rf source.partial/builddir &&
    cp "$apt_dir/source/usr/include/mysql/mysqld_error.h" build.partial/include/ &&
    cp "$apt_dir"/source/usr/lib/*/libmysqlservices.a build.partial/ &&
    mv build.partial build && mv source.partial source
}

make_mysql_cache() {
  local package_version server_dir
  [[ -z $source ]] || die "--source: the headers of $server_name come from Debian's mysql-source"
  prepare_private_apt "${server_release[$server_name]}"
  pick_mysql_version
  server_dir=$cache_dir/server-mysql-$package_version.$cache_recipe
  mkdir -p "$server_dir"
  cd "$server_dir" || die "cannot enter $server_dir"
  if [[ ! -e env ]]; then
    rm -rf ./*.partial source build
    run_step "downloading the source of MySQL $package_version (430 MB)" "$apt_dir/log" \
      download_mysql "${mysql_headers[@]}" || die "the server's source cannot be downloaded"
    run_step "unpacking its headers" unpack.log unpack_mysql_headers ||
      die "the server's source could not be unpacked"
    write_server_env
  fi
  link_server_cache "$server_dir"
  rm -rf "$apt_dir"
}

# The schema `test`, which MariaDB makes by itself, is what the README's session and the recipes use.
make_mysql_data_directory() {
  rm -rf datadir.partial datadir
  echo "CREATE DATABASE test;" >datadir.sql
  prefix/usr/sbin/mysqld --no-defaults --initialize-insecure --user="$(id -un)" \
    --basedir="$PWD/prefix/usr" --datadir="$PWD/datadir.partial" \
    --lc-messages-dir="$PWD/prefix/usr/share/mysql" --secure-file-priv=NULL \
    --innodb-redo-log-capacity=8M --auto-generate-certs=OFF \
    --caching-sha2-password-auto-generate-rsa-keys=OFF --init-file="$PWD/datadir.sql" &&
    rm -f datadir.partial/auto.cnf datadir.sql && mv datadir.partial datadir
}

# Obtains the binaries of the version whose headers are in the cache.
make_mysql_binaries() {
  local deb package_version
  load_server_env
  package_version=$ROWSOCKET_SERVER_PACKAGE
  cd -P "$(server_link)" || die "cannot enter $(server_link)"
  rm -rf ./*.partial
  if [[ ! -e prefix ]]; then
    prepare_private_apt "${server_release[$server_name]}"
    run_step "downloading the binaries of MySQL $package_version" "$apt_dir/log" \
      download_mysql "${mysql_binaries[@]}" || die "the server's binaries cannot be downloaded"
    run_step "downloading their libraries" "$apt_dir/log" \
      download_mysql_libraries || die "the libraries of the server cannot be downloaded"
    mkdir prefix.partial
    for deb in "$apt_dir"/debs/*.deb; do
      dpkg -x "$deb" prefix.partial
    done
    use_own_libraries prefix.partial prefix.partial
    mv prefix.partial prefix
    rm -rf "$apt_dir"
  fi
  run_step "making a pristine data directory" install-db.log make_mysql_data_directory ||
    die "mysqld --initialize-insecure failed"
  chmod -R a+rX .
}
