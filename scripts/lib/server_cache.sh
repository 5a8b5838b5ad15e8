# shellcheck shell=bash disable=SC2034,SC2154 # shares its variables with bootstrap
# Makes the cache of one server version: the headers, with which the library is built, and, for a private server,
# binaries and a pristine data directory. Sourced by bootstrap, after private_apt.sh; the caller holds the lock.
#
# $cache_dir/server-VERSION.RECIPE/
#                             source/   the headers of the version's source, and what its clients' parts need
#                             build/    the headers that the server's own build generates
#                             env       written when both exist
#                             prefix/   Debian's binaries, unpacked
#                             datadir/  the result of mariadb-install-db, to be copied: made last
# $cache_dir/NAME             link to the cache in use for the server of this name (mariadb-10.11, ...)
# A part that exists is complete (each appears by a rename, build/ by its marker), so that an interrupted
# run continues where it stopped.

# Raise this number when a change below makes other caches: older caches are then made anew.
cache_recipe=2

server_binaries=(mariadb-server-core mariadb-server mariadb-client-core mariadb-client
  mariadb-common libmariadb3)

# The libraries that the server's programs load in a release of Debian, for a machine with an earlier one.
declare -A server_libraries=(
  [trixie]="libaio1t64 libbsd0 libc6 libcap2 libcrypt1 libedit2 libgcc-s1 libmd0 libncurses6
    libnuma1 libpcre2-8-0 libssl3t64 libstdc++6 libsystemd0 libtinfo6 liburing2 libzstd1 zlib1g"
)

# Libraries of Debian 12 that later releases do not have, by the name under which its programs load them.
server_libraries_gone=(libaio1)

plugins_left_out=(MROONGA ROCKSDB SPIDER CONNECT OQGRAPH SPHINX COLUMNSTORE S3 AUTH_PAM
  AUTH_GSSAPI CRACKLIB_PASSWORD_CHECK)

# The parts of the source with which the library is built, and the client of the bundled plugin, with which its tests
# compare.
source_kept=(VERSION include sql wsrep-lib plugin/auth_ed25519 plugin/handler_socket)

# The headers that the server's own build generates, and Debian's package that has them from Debian's build of the
# server.
generated_headers=(my_config.h mysql_version.h mysqld_error.h)
generated_package=libmariadbd-dev

server_is_there() {
  grep -qsx "ROWSOCKET_CACHE_RECIPE=$cache_recipe" "$(server_link)/env"
}
server_binaries_are_there() { [[ -e $(server_link)/datadir/test ]]; }

# version_of_source FOLDER: x.y.z, from the VERSION file of the source.
version_of_source() {
  sed -nE 's/^MYSQL_VERSION_(MAJOR|MINOR|PATCH)=([0-9]+).*/\2/p' "$1/VERSION" | paste -sd.
}

# Takes the folder or archive of --source, and sets $package_version: the version of the installed package if it has the
# same x.y.z, otherwise only x.y.z.
take_given_source() {
  local folder=$apt_dir/given installed
  mkdir -p "$folder"
  if [[ -d $source ]]; then
    cp -R --no-preserve=ownership "$source/." "$folder"
  else
    run_step "unpacking $source" "$apt_dir/log" \
      tar --no-same-owner --strip-components=1 -C "$folder" -xf "$source" ||
      die "$source cannot be unpacked"
  fi
  [[ -e $folder/VERSION && -e $folder/sql/handler.h ]] ||
    die "$source is not the source of a MariaDB server: it has no VERSION or no sql/handler.h"
  package_version=$(version_of_source "$folder")
  require_version_of_the_line "$package_version"
  installed=$(installed_server_package)
  [[ ${installed#*:} != "$package_version"-* ]] || package_version=$installed
}

# Picks the first version whose source can be downloaded and leaves it in $package_version: a newer
# binary may be offered before, or without, its source.
pick_version() {
  local version versions offered
  require_version_of_the_line "$wanted_version"
  # scripts/package --for passes x.y.z on if the machine's own apt does not have it. Reads the whole lists first,
  # because an apt that still runs would collide with the apt of the download.
  if [[ -n $wanted_version && $wanted_version != *-* ]]; then
    offered=$(known_version; server_package_versions || true)
    wanted_version=$(full_version "$wanted_version" <<<"$offered")
  fi
  if [[ -n $wanted_version ]]; then
    versions=("$wanted_version")
  else
    mapfile -t versions < <(server_package_versions)
  fi
  ((${#versions[@]})) || die "Debian's lists offer no MariaDB ${server_name#*-}"
  for version in "${versions[@]}"; do
    package_version=$version
    [[ ! -e $cache_dir/server-${version#*:}.$cache_recipe/env ]] || return 0
    if run_step "downloading the source of MariaDB $version" "$apt_dir/log" \
      download_source "$version" 2>/dev/null; then
      return
    fi
    say "  the source of $version cannot be downloaded"
  done
  if [[ -n $wanted_version && $wanted_version != "$(known_version)" ]]; then
    mariadb_cannot_be_had "$wanted_version"
  fi
  version=$(known_version)
  # Debian's lists name only the newest version of a release; the pool keeps earlier ones for a while.
  if [[ -n $version ]] && known_version_may_do &&
    run_step "downloading the source of MariaDB $version" "$apt_dir/log" download_known source "$apt_dir/source" "$(private_pool)"; then
    package_version=$version
    return
  fi
  tail -n 20 "$apt_dir/log" >&2
  die "no MariaDB ${server_name#*-} whose source can be downloaded; is the network up?"
}

# Whether a library for the tested version is useful: it was asked for, or no server of its line is installed in another
# version.
known_version_may_do() {
  [[ -n $wanted_version || -n ${ROWSOCKET_ANOTHER_SERVER-} || $(installed_server_package) != 1:"${server_name#*-}".* ]] ||
    fits_installed_server "$(upstream_version "$(known_version)")"
}

# Ends the script, with the ways out. Nothing has been installed by then.
mariadb_cannot_be_had() { # VERSION
  local upstream
  upstream=$(upstream_version "$1")
  cat >&2 <<TEXT
The source of MariaDB $1 is not on this machine's mirrors: the binary of a security update can be there before
its source, and Debian's -dev packages carry no private headers. Ways out:
 - Try again when the mirrors have it: scripts/package --for $upstream
 - The source from elsewhere, as mariadb-$upstream.tar.gz or a folder, of MariaDB's own releases:
     scripts/bootstrap --server $server_name --source PATH, then scripts/package --server-cache $cache_dir/$server_name
 - The version with which the library was tested, and that server:
     scripts/package --server $server_name --for $(upstream_version "$(known_version)"), then apt-get install --allow-downgrades
     mariadb-server=$(known_version) and the packages of the same source that are installed beside it
TEXT
  die "there can be no library for MariaDB $upstream now"
}

# Whether the server is of a "later" or "earlier" release of Debian than this machine.
server_is_of() {
  local own=${release_number[$(host_release)]-0} its=${release_number[${server_release[$server_name]}]}
  if [[ $1 == later ]]; then ((its > own)); else ((its < own)); fi
}

# A server of a later release runs with all libraries of that release. A server of an earlier release has to run with
# this machine's, because the library that is built here needs them; they still have all that the server needs.
libraries_beside_server() {
  if server_is_of later; then
    echo "${server_libraries[${server_release[$server_name]}]}"
  elif server_is_of earlier; then
    echo "${server_libraries_gone[@]}"
  fi
}

unpack_binaries() {
  local deb
  mkdir prefix.partial
  for deb in "$apt_dir"/debs/*.deb; do
    dpkg -x "$deb" prefix.partial
  done
  use_libraries_beside prefix.partial prefix.partial
  mv prefix.partial prefix
}

# Lets the programs find the libraries that are unpacked next to the server. Runs in the server's folder of the cache.
use_libraries_beside() { # FOLDER_OF_THE_PROGRAMS FOLDER_OF_THE_LIBRARIES_NOW
  local file folder
  if server_is_of later; then
    use_own_libraries "$@"
  elif server_is_of earlier; then
    folder=$(cd "$2" && echo usr/lib/*-linux-gnu*)
    while read -r file; do
      patchelf --force-rpath --set-rpath "$PWD/prefix/$folder" "$file" || die "patchelf cannot change $file"
    done < <(programs_of "$1")
  fi
}

programs_of() { # FOLDER
  local file
  for file in "$1"/usr/bin/* "$1"/usr/sbin/*; do
    [[ ! -f $file || -L $file || $(head -c 4 "$file") != $'\x7fELF' ]] || echo "$file"
  done
}

# A program of a later release of Debian runs with that release's libraries: it gets the path that the libraries
# will have. Runs in the program's folder of the cache.
use_own_libraries() { # FOLDER_OF_THE_PROGRAMS FOLDER_OF_THE_LIBRARIES_NOW
  local file loader libraries
  loader=$(cd "$2" && echo usr/lib*/*/ld-linux*.so.*)
  loader=${loader%% *}
  libraries=$PWD/prefix/${loader%/*}
  while read -r file; do
    patchelf --set-interpreter "$PWD/prefix/$loader" --force-rpath --set-rpath "$libraries" "$file" ||
      die "patchelf cannot change $file"
  done < <(programs_of "$1")
}

# The archive's entries begin with the name of one folder; PATTERN... choose among the rest of their paths.
unpack_source() { # [PATTERN...]
  if [[ -e $apt_dir/given ]]; then
    mv "$apt_dir/given" source
    return
  fi
  local tarballs=("$apt_dir"/source/mariadb_*.orig.tar.*) only=()
  (($# == 0)) || only=(--wildcards --no-wildcards-match-slash "${@/#/*/}" --exclude='*/sql/*.cc' --exclude='*/sql/share')
  mkdir source.partial &&
    tar --no-same-owner --strip-components=1 -C source.partial -xf "${tarballs[0]}" "${only[@]}" &&
    mv source.partial source
}

download_generated() {
  local version=$1
  if [[ $(private_apt apt-cache madison "$generated_package") == *" $version "* ]]; then
    (cd "$apt_dir/debs" && private_apt apt-get download "$generated_package=$version")
  else
    [[ $version == "$(known_version)" ]] && download_known headers "$apt_dir/debs" "$(private_pool)"
  fi
}

# The package's headers come before the library of some hundred MB, which is not unpacked.
unpack_generated() {
  local debs=("$apt_dir/debs/$generated_package"_*.deb) folder=./usr/include/mariadb/server
  rm -rf build.partial && mkdir -p build.partial/include build.partial/sql &&
    { dpkg-deb --fsys-tarfile "${debs[0]}" 2>/dev/null || true; } |
    tar --no-same-owner --strip-components=5 --occurrence=1 -C build.partial/include -x "${generated_headers[@]/#/$folder/}" &&
    cp source/include/probes_mysql_nodtrace.h.in build.partial/include/probes_mysql_nodtrace.h &&
    touch build.partial/.complete && mv build.partial build
}

# Obtains the headers of Debian's own build, in seconds; fails if Debian's build of this version cannot be downloaded.
take_generated_headers() {
  [[ $package_version == *-* ]] && [[ -z $source ]] || return 1
  [[ -e build/.complete ]] ||
    { run_step "downloading the generated headers of MariaDB $package_version" "$apt_dir/log" \
      download_generated "$package_version" 2>/dev/null &&
      run_step "unpacking them" unpack.log unpack_generated; }
}

# Configures for make and not for Ninja, because the server's CMake files give Ninja a rule twice.
configure_source() {
  local plugin flags=()
  for plugin in "${plugins_left_out[@]}"; do
    flags+=("-DPLUGIN_$plugin=NO")
  done
  cmake -G "Unix Makefiles" -S source -B build -DBUILD_CONFIG=mysql_release \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DINSTALL_LAYOUT=DEB -DIGNORE_AIO_CHECK=ON \
    -DWITH_SSL=system -DWITH_ZLIB=system -DWITH_PCRE=system -DWITH_UNIT_TESTS=OFF \
    -DWITH_MARIABACKUP=OFF -DPLUGIN_AUTH_GSSAPI_CLIENT=OFF "${flags[@]}"
}

generate_headers() {
  make -C build -j"$(nproc)" GenError
}

build_headers() {
  [[ ! -e build/.complete ]] || return 0
  install_missing_packages configure
  rm -rf build
  run_step "configuring the server's source for its headers (about a minute)" configure.log \
    configure_source || die "the server's source could not be configured"
  run_step "generating the server's headers (about a minute)" generate.log generate_headers ||
    die "the server's headers could not be generated"
  touch build/.complete
}

# Removes from the source all that the library and its tests do not use. An interruption leaves no source, which is then
# obtained again.
keep_of_source() {
  local part
  mv source whole.partial
  mkdir source.partial
  for part in "${source_kept[@]}"; do
    mkdir -p "source.partial/$(dirname "$part")"
    mv "whole.partial/$part" "source.partial/$part"
  done
  mv source.partial source
  rm -rf whole.partial
}

make_data_directory() {
  rm -rf datadir.partial
  # The authentication method lets root in without a password; without the nameless accounts, a test's
  # own accounts match. The accounts have no name of this machine.
  echo "DELETE FROM mysql.global_priv WHERE User = '';" >accounts.sql
  local share=$PWD/prefix/usr/share/mariadb
  [[ -e $share/charsets ]] || share=$PWD/prefix/usr/share/mysql
  prefix/usr/bin/mariadb-install-db --no-defaults --basedir="$PWD/prefix/usr" \
    --user="$(id -un)" --datadir="$PWD/datadir.partial" --cross-bootstrap \
    --auth-root-authentication-method=normal --skip-log-bin --innodb-log-file-size=96M \
    --lc-messages-dir="$share" --extra-file="$PWD/accounts.sql" &&
    rm -f accounts.sql && dig_holes datadir.partial && mv datadir.partial datadir
}

# Frees the blocks of large files that hold nothing but zeros, so that a copy of the folder need not read them.
dig_holes() { find "$1" -type f -size +1M -exec fallocate --dig-holes {} ';'; }

# 1:10.11.18-0+deb12u1 -> 10.11.18
upstream_version() {
  local version=${1#*:}
  echo "${version%%-*}"
}

# full_version VERSION: prints the first of the versions on the input, one per line, that a bare x.y.z means; otherwise
# VERSION itself.
full_version() {
  local version
  if [[ -n $1 && $1 != *-* ]]; then
    while read -r version; do
      [[ $(upstream_version "$version") != "$1" ]] || { echo "$version"; return; }
    done
  fi
  echo "$1"
}

# The cache of a version of another line would get this server's name.
require_version_of_the_line() { # VERSION; an empty one is any
  [[ -z $1 || $(upstream_version "$1") == "${server_name#*-}".* ]] ||
    die "$1 is no version of $server_name: --server names one of ${servers[*]}"
}

write_server_env() {
  {
    echo "ROWSOCKET_CACHE_RECIPE=$cache_recipe"
    echo "ROWSOCKET_SERVER_VERSION=$(upstream_version "$package_version")"
    echo "ROWSOCKET_SERVER_PACKAGE=$package_version"
    echo "ROWSOCKET_SERVER_PREFIX=$PWD/prefix"
    echo "ROWSOCKET_SERVER_SOURCE=$PWD/source"
    echo "ROWSOCKET_SERVER_BUILD=$PWD/build"
    echo "ROWSOCKET_SERVER_DATADIR=$PWD/datadir"
  } >env.partial
  chmod -R a+rX .
  mv env.partial env
}

link_server_cache() { # FOLDER
  ln -sfn "$1" "$(server_link).partial"
  mv -T "$(server_link).partial" "$(server_link)"
}

make_server_cache() {
  require_installed_line
  if [[ $server_family == mysql ]]; then
    make_mysql_cache
    return
  fi
  local package_version server_dir
  if [[ -n $source ]]; then
    rm -rf "$apt_dir"
    take_given_source
  else
    prepare_private_apt "${server_release[$server_name]}"
    pick_version
  fi
  # Checked first, because the download takes minutes.
  require_installed_server "$(upstream_version "$package_version")" "$package_version"
  server_dir=$cache_dir/server-${package_version#*:}.$cache_recipe
  mkdir -p "$server_dir"
  cd "$server_dir" || die "cannot enter $server_dir"
  if [[ ! -e env ]]; then
    rm -rf ./*.partial
    # A source that the caller gives is complete, and is moved here only once.
    [[ -e source || -n $source ]] || run_step "unpacking its headers" unpack.log unpack_source "${source_kept[@]}" ||
      die "the server's source could not be unpacked"
    if ! take_generated_headers; then
      # The server's own build, which takes another minute or two, needs the whole source.
      rm -rf source build
      run_step "unpacking the source" unpack.log unpack_source || die "the server's source could not be unpacked"
      build_headers
      keep_of_source
    fi
    write_server_env
  fi
  link_server_cache "$server_dir"
  clear_private_apt
}

# Obtains the binaries of the version whose source is in the cache.
make_server_binaries() {
  if [[ $server_family == mysql ]]; then
    make_mysql_binaries
    return
  fi
  load_server_env
  cd -P "$(server_link)" || die "cannot enter $(server_link)"
  rm -rf ./*.partial
  if [[ ! -e prefix ]]; then
    ! server_is_of later || [[ -n ${server_libraries[${server_release[$server_name]}]-} ]] ||
      die "server_libraries in scripts/lib/server_cache.sh has none of ${server_release[$server_name]}"
    prepare_private_apt "${server_release[$server_name]}"
    run_step "downloading the binaries of MariaDB $ROWSOCKET_SERVER_PACKAGE" "$apt_dir/log" \
      download_binaries "$ROWSOCKET_SERVER_PACKAGE" ||
      die "the server's binaries cannot be downloaded; a newer server: scripts/bootstrap --server $server_name --update server"
    unpack_binaries
    rm -rf "$apt_dir"
  fi
  run_step "making a pristine data directory" install-db.log make_data_directory ||
    die "mariadb-install-db failed"
  chmod -R a+rX .
}
