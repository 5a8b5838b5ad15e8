# shellcheck shell=bash
# Finds out for which server, in which version, scripts/package --for builds. Sourced, after lib.sh.

# apt_policy PACKAGE: prints what apt-cache policy says without apt's pin for Rowsocket; the administrator's own pins,
# in the other files, count.
apt_policy() {
  local folder file
  folder=$(mktemp -d)
  for file in "${ROWSOCKET_APT_PREFERENCES:-/etc/apt/preferences.d}"/*; do
    [[ ! -e $file || ${file##*/} == rowsocket.pref ]] || ln -s -- "$file" "$folder/"
  done
  LC_ALL=C apt-cache -o "Dir::Etc::PreferencesParts=$folder" policy "$1" || true
  rm -r -- "$folder"
}

installed_core() { # mariadb|mysql
  dpkg-query -W -f '${db:Status-Status} ${Version}' "$1-server-core" 2>/dev/null | sed -n 's/^installed //p'
}

offered_core() { # mariadb|mysql
  apt_policy "$1-server-core" | sed -n 's/^ *Candidate: //p'
}

# Prints the version of the server's package that --for means.
version_for() { # now|next|VERSION
  local core=$server_family-server-core installed
  case $1 in
    now)
      installed=$(installed_core "$server_family") || true
      printf '%s\n' "${installed:-$(offered_core "$server_family")}"
      ;;
    next) offered_core "$server_family" ;;
    *) apt-cache madison "$core" | awk -F' *\\| *' '{ print $2 }' | grep -E "^([0-9]+:)?${1//./\\.}-" | head -n 1 ||
      printf '%s\n' "$1" ;;
  esac
}

# Prints the name of this machine's server: the installed one, otherwise MariaDB as apt offers it; the first of servers
# if the library is built for neither.
server_here() {
  local family version name
  for family in mariadb mysql ''; do
    if [[ -n $family ]]; then
      version=$(installed_core "$family") || true
    else
      family=mariadb version=$(offered_core mariadb)
    fi
    version=${version#*:}
    name=$family-$(cut -d . -f 1,2 <<<"$version")
    [[ " ${servers[*]} " != *" $name "* ]] || { printf '%s\n' "$name"; return; }
  done
  printf '%s\n' "${servers[0]}"
}
