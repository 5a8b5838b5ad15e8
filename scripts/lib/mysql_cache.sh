# shellcheck shell=bash disable=SC2154 # shares its variables with bootstrap
# Makes the cache of MySQL, as server_cache.sh makes MariaDB's. Sourced by bootstrap, after
# server_cache.sh; the caller holds the lock.
#
# Debian's package mysql-source holds the source as Debian has configured it, so that nothing is configured or generated
# here: source/ has the headers of the tree, build/ what CMake has made and the other headers of libmysqlclient-dev.
# Both come from Debian sid, whose lists drop a version when the next one comes: the files of the version with which the
# library was tested are then taken from the pool, which keeps them for a while, and the cache keeps what is used.

mysql_binaries=(mysql-server-core mysql-client-core)
mysql_headers=(mysql-source libmysqlclient-dev)

# The libraries that the server's programs and plugins load in sid.
mysql_libraries=(libaio1t64 libbsd0 libc6 libedit2 libgcc-s1 libgoogle-perftools4t64 libicu78 liblz4-1
  liblzma5 libmd0 libnuma1 libprotobuf-lite32t64 libprotobuf32t64 libssl3t64 libstdc++6
  libtcmalloc-minimal4t64 libtinfo6 libtirpc3t64 libunwind8 libxxhash0 libzstd1 zlib1g)

# The folders of the source with headers that the library includes, directly or through others.
mysql_source_folders=(include sql sql-common libs vector-common strings mysys storage/perfschema
  extra/rapidjson/include extra/unordered_dense)

mysql_in_the_lists() {
  private_apt apt-cache madison mysql-source 2>/dev/null | awk -F' *\\| *' '{ print $2 }' | grep -F "${server_name#*-}." | sort -Vr
}

# The versions to try, the best first: the installed server's, the one with which the library was tested, the
# newest of Debian's lists; with --update the newest comes before the tested one.
mysql_versions() {
  local offered=''
  if [[ -n $wanted_version ]]; then
    # Reads the whole lists first, because an apt that still runs would collide with the apt of the download.
    [[ $wanted_version == *-* ]] || offered=$(installed_server_package; known_version; mysql_in_the_lists || true)
    full_version "$wanted_version" <<<"$offered"
    return
  fi
  offered=$(mysql_in_the_lists || true)
  {
    installed_server_package
    [[ -n $update ]] || known_version
    [[ -z $offered ]] || printf '%s\n' "$offered"
    known_version
  } | grep -F "${server_name#*-}." | awk '!seen[$0]++'
}

# The file of a package in the folder of --source.
given_package() { # PACKAGE
  [[ -n $source ]] && find "$source" -maxdepth 1 -name "$1_*.deb" -print -quit | grep .
}

# Downloads packages of $package_version, from the folder of --source, Debian's lists or, with the checksums of KIND in
# known_servers.tsv, the pool.
download_mysql() { # KIND PACKAGE...
  local kind=$1 name given listed=''
  ! mysql_in_the_lists | grep -xF "$package_version" || listed=1
  for name in "${@:2}"; do
    if given=$(given_package "$name"); then
      [[ $(dpkg-deb -f "$given" Version) == "$package_version" ]] || { echo "$given is not of $package_version"; return 1; }
      cp "$given" "$apt_dir/debs/" || return 1
    elif [[ -n $listed ]]; then
      (cd "$apt_dir/debs" && private_apt apt-get download "$name=$package_version") || return 1
    elif [[ $package_version == "$(known_version)" ]]; then
      download_known "$kind" "$apt_dir/debs" "$(private_pool)" "$name" || return 1
    else
      echo "Debian's lists do not offer MySQL $package_version any more"
      return 1
    fi
  done
}

# A newer library of the same name will do; if sid has no library of that name any more, the tested version's is taken.
download_mysql_libraries() {
  local name given offered wanted=()
  offered=$(private_apt apt-cache madison "${mysql_libraries[@]}" 2>/dev/null | awk '{ print $1 }') || true
  for name in "${mysql_libraries[@]}"; do
    if given=$(given_package "$name"); then
      cp "$given" "$apt_dir/debs/" || return 1
    elif grep -qxF "$name" <<<"$offered"; then
      wanted+=("$name/sid")
    else
      download_known library "$apt_dir/debs" "$(private_pool)" "$name" || return 1
    fi
  done
  ((${#wanted[@]} == 0)) || (cd "$apt_dir/debs" && private_apt apt-get download "${wanted[@]}")
}

mysql_folder() { echo "$cache_dir/server-mysql-$1.$cache_recipe"; }

# Leaves in $package_version the first version whose headers are in the cache or can be downloaded.
pick_mysql_version() {
  local versions given
  require_version_of_the_line "$wanted_version"
  if [[ -n $source ]]; then
    given=$(given_package mysql-source) ||
      die "--source: $source has no mysql-source_*.deb: the headers of $server_name are in the packages ${mysql_headers[*]}"
    versions=("$(dpkg-deb -f "$given" Version)")
    require_version_of_the_line "${versions[0]}"
  else
    mapfile -t versions < <(mysql_versions)
  fi
  for package_version in "${versions[@]}"; do
    # Checked first, because the download takes minutes.
    require_installed_server "$(upstream_version "$package_version")" "$package_version"
    [[ ! -e $(mysql_folder "$package_version")/env ]] || return 0
    rm -f "$apt_dir"/debs/*
    if run_step "obtaining the source of MySQL $package_version (430 MB)" "$apt_dir/log" \
      download_mysql source "${mysql_headers[@]}"; then
      [[ $package_version == "$(known_version)" ]] ||
        warn "the library was tested with MySQL $(known_version); this one will be for $package_version"
      return 0
    fi
    say "  MySQL $package_version cannot be downloaded"
  done
  mysql_cannot_be_had "the source of MySQL ${server_name#*-}" "${mysql_headers[@]}"
}

# Ends the script, with the ways out.
mysql_cannot_be_had() { # WHAT PACKAGE...
  local offered
  offered=$(mysql_in_the_lists | head -n 1) || true
  cat >&2 <<TEXT
Debian's lists of sid offer MySQL ${offered:-${server_name#*-} no more}; the library was tested with MySQL $(known_version).
Ways out, if the network is up:
 - The newest version that the lists offer, which was not tested:
     scripts/bootstrap --server $server_name --update
 - The packages ${*:2}
   of one version as files in a folder, from wherever they can be had (Debian's archive of former days
   has each version):
     scripts/bootstrap --server $server_name --source FOLDER
 - The cache of a machine that has made one: its folder $(mysql_folder "$(known_version)"),
   at the same place, and the link to it:
     ln -sfn $(mysql_folder "$(known_version)") $(server_link)
TEXT
  die "$1 cannot be downloaded"
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
  [[ -z $source || -d $source ]] || die "--source: $source is not a folder with the packages ${mysql_headers[*]}"
  prepare_private_apt "${server_release[$server_name]}"
  pick_mysql_version
  server_dir=$(mysql_folder "$package_version")
  mkdir -p "$server_dir"
  cd "$server_dir" || die "cannot enter $server_dir"
  if [[ ! -e env ]]; then
    rm -rf ./*.partial source build
    run_step "unpacking its headers" unpack.log unpack_mysql_headers ||
      die "the server's source could not be unpacked"
    write_server_env
  fi
  link_server_cache "$server_dir"
  clear_private_apt
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
    rm -f datadir.partial/auto.cnf datadir.sql && dig_holes datadir.partial && mv datadir.partial datadir
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
      download_mysql binary "${mysql_binaries[@]}" ||
      mysql_cannot_be_had "the binaries of MySQL $package_version" "${mysql_binaries[@]}"
    run_step "downloading their libraries" "$apt_dir/log" \
      download_mysql_libraries || mysql_cannot_be_had "a library of MySQL $package_version" "${mysql_libraries[@]}"
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
