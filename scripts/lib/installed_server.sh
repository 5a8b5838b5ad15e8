# shellcheck shell=bash
# The server of the chosen family that this machine runs, as opposed to the private servers of tests. It refuses a
# library for another version, which would be built and installed in vain, so scripts that make a library stop here.
# Sourced after lib.sh.

# The version of the installed server package; nothing if no package is installed.
installed_server_package() {
  dpkg-query -W -f '${Status} ${Version}\n' "$server_family-server-core" 2>/dev/null |
    sed -nE 's/^(install|hold) ok installed //p' || true
}

# The installed server's x.y.z: the package's, or that of a program from elsewhere; nothing if there is
# no server.
installed_server_version() {
  local package program others=''
  package=$(installed_server_package)
  if [[ -n $package ]]; then
    package=${package#*:}
    echo "${package%%-*}"
  elif program=$(PATH=$PATH:/usr/sbin:/usr/local/sbin command -v "$server_program"); then
    # mysqld may be a link to MariaDB's program.
    [[ $server_family == mariadb ]] || others='/MariaDB/d;'
    "$program" --no-defaults --version 2>/dev/null | sed -nE "$others"' s/.* Ver ([0-9]+\.[0-9]+\.[0-9]+).*/\1/p'
  fi
}

# The installed packages that have the server's own version, and so have to change together with it.
packages_of_installed_server() {
  dpkg-query -W -f '${source:Package} ${Version} ${Status} ${Package}\n' 2>/dev/null |
    awk -v version="$1" -v source="${server_name/mariadb-*/mariadb}" '$1 == source && $2 == version && $5 == "installed" { print $6 }'
}

fits_installed_server() { # VERSION
  local installed
  installed=$(installed_server_version)
  [[ -z $installed || $installed == "$1" ]]
}

# The installed server's name as in servers, such as mariadb-11.8; nothing if there is no server.
installed_server_name() {
  local version
  version=$(installed_server_version)
  [[ -z $version ]] || echo "$server_family-${version%.*}"
}

# The installed server is of the line that the library is for.
ways_out_within_the_line() { # VERSION [PACKAGE VERSION]
  local package name names downgrade=() option='' source
  package=$(installed_server_package)
  [[ $server_name == "${servers[0]}" ]] || option="--server $server_name "
  source="The source of $(installed_server_version), as a folder or an archive, from wherever it can be had:
     scripts/bootstrap $option--source PATH"
  if [[ $server_family == mysql ]]; then
    source="The packages mysql-source and libmysqlclient-dev of $(installed_server_version), as files in a folder:
     scripts/bootstrap $option--source FOLDER"
  fi
  say " - $source"
  [[ -n $package && -n ${2-} ]] || return 0
  mapfile -t names < <(packages_of_installed_server "$package")
  for name in "${names[@]}"; do
    downgrade+=("$name=$2")
  done
  cat <<TEXT
 - The server in the version that the library is for, held there until a library for a newer one is
   installed (look at $server_title's release notes before):
     apt-get install --allow-downgrades ${downgrade[*]}
     apt-mark hold ${names[*]}
TEXT
}

# A server of another line is not brought to this one, which could not read its data.
ways_out() { # VERSION [PACKAGE VERSION]
  local installed
  installed=$(installed_server_name)
  cat <<TEXT
Ways out:
 - A package of Rowsocket that has a library for $(installed_server_version) needs no build:
     apt install ./$server_family-plugin-rowsocket_*.deb
TEXT
  if [[ $installed == "$server_name" ]]; then
    ways_out_within_the_line "$@"
  elif [[ " ${servers[*]} " == *" $installed "* ]]; then
    cat <<TEXT
 - The library for this machine's server:
     scripts/build --server $installed
TEXT
  fi
  cat <<TEXT
 - A library for another machine, or for a private server: go on with --another-server, or with
   ROWSOCKET_ANOTHER_SERVER=1 in the environment where a command has no options.
TEXT
}

# require_installed_server VERSION [PACKAGE VERSION]: ends the script if this machine's server cannot
# load a library for VERSION, unless --another-server was given.
require_installed_server() {
  fits_installed_server "$1" && return
  if [[ -n ${ROWSOCKET_ANOTHER_SERVER-} ]]; then
    warn "the library is for $server_title $1; this machine's server is $(installed_server_version)," \
      "which will refuse it"
    return
  fi
  warn "this library would be for $server_title $1, but this machine's server is" \
    "$(installed_server_version), which would refuse it"
  ways_out "$@" >&2
  exit 1
}

# Ends the script, before anything is downloaded, if this machine's server is of another line than the chosen one.
require_installed_line() {
  local installed
  [[ -z ${ROWSOCKET_ANOTHER_SERVER-} ]] || return 0
  installed=$(installed_server_name)
  [[ -z $installed || $installed == "$server_name" ]] || require_installed_server "${server_name#*-}"
}
