# shellcheck shell=bash disable=SC2154 # reads what bootstrap sets
# apt-get with lists of its own, so that server binaries and server source of one version can be
# fetched without touching the machine's configuration. Sourced by bootstrap.
#
# The sources are the machine's own entries for Debian's suites, with deb-src added to each; the entries for another
# release of Debian have the same addresses.

apt_dir=$store_dir/apt.partial

# Prints the suites to read for a release: sid has no updates of its own.
suites_wanted() { # RELEASE
  local codename
  codename=$(host_release)
  if [[ $1 == sid ]]; then
    echo "^$codename$"
  else
    echo "^$codename(-updates|-security|/updates|-proposed-updates)?$"
  fi
}

# The entries of the form "deb [options] URI suite components".
private_sources_from_lists() { # SUITES FILE...
  awk -v suites="$1" '
    $1 != "deb" && $1 != "deb-src" { next }
    {
      options = ""
      rest = $0
      sub(/^[ \t]*deb(-src)?[ \t]+/, "", rest)
      if (match(rest, /^\[[^]]*\]/)) options = substr(rest, 1, RLENGTH)
      if (options ~ /signed-by=/ && options !~ /debian-archive/) next
      sub(/^\[[^]]*\][ \t]*/, "", rest)
      gsub(/[ \t]+/, " ", rest)
      split(rest, words, " ")
      if (words[2] !~ suites) next
      if (seen[rest]++) next
      print "deb " options " " rest
      print "deb-src " options " " rest
    }' "${@:2}"
}

# The stanzas of the form "Types: / URIs: / Suites: / Components: / Signed-By:".
private_sources_from_stanzas() { # SUITES FILE...
  awk -v wanted_suites="$1" -v RS= -v FS='\n' '
    {
      suites = ""; text = ""; wanted = 1
      for (i = 1; i <= NF; i++) {
        if ($i ~ /^#/ || tolower($i) ~ /^types:/) continue
        if (tolower($i) ~ /^enabled:[ \t]*no/) wanted = 0
        if (tolower($i) ~ /^signed-by:/ && $i !~ /debian-archive/) wanted = 0
        if (tolower($i) ~ /^suites:/) {
          count = split($i, words, /[ \t]+/)
          for (w = 2; w <= count; w++)
            if (words[w] ~ wanted_suites)
              suites = suites " " words[w]
          continue
        }
        text = text $i "\n"
      }
      if (wanted && suites != "" && text ~ /[Uu][Rr][Ii]s:/)
        printf "Types: deb deb-src\nSuites:%s\n%s\n", suites, text
    }' "${@:2}"
}

host_release() { (. /etc/os-release && echo "$VERSION_CODENAME"); }

# write_private_sources RELEASE
write_private_sources() {
  local codename suites lists stanzas
  codename=$(host_release)
  suites=$(suites_wanted "$1")
  shopt -s nullglob
  lists=(/etc/apt/sources.list /etc/apt/sources.list.d/*.list)
  stanzas=(/etc/apt/sources.list.d/*.sources)
  shopt -u nullglob
  [[ -e ${lists[0]} ]] || lists=("${lists[@]:1}")
  if ((${#lists[@]})); then
    private_sources_from_lists "$suites" "${lists[@]}" >"$apt_dir/sources/debian.list"
  fi
  if ((${#stanzas[@]})); then
    # An empty line between two files keeps their stanzas apart.
    awk 'FNR == 1 { print "" } { print }' "${stanzas[@]}" >"$apt_dir/stanzas"
    private_sources_from_stanzas "$suites" "$apt_dir/stanzas" >"$apt_dir/sources/debian.sources"
  fi
  if [[ $1 != "$codename" ]]; then
    sed -i -E -e "/^Suites:/s/\b$codename\b/$1/g" \
      -e "s/^(deb(-src)? +(\[[^]]*\] *)?[^ ]+ +)$codename/\1$1/" "$apt_dir"/sources/*
  fi
  [[ -n $(cat "$apt_dir"/sources/*) ]] ||
    die "found no entry for Debian $codename in /etc/apt/sources.list or sources.list.d"
}

# Set if the lists are out of date by their own words.
private_apt_options=()

# The output of the programs is searched, so it has to be English.
private_apt() {
  local program=$1
  shift
  LC_ALL=C "$program" -q "${private_apt_options[@]}" \
    -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$apt_dir/sources" \
    -o Dir::State::lists="$apt_dir/lists" -o Dir::Cache="$apt_dir/cache" \
    -o APT::Sandbox::User="$(id -un)" "$@"
}

# Makes room for downloads, and keeps the lists, which a later step of this bootstrap may read.
clear_private_apt() {
  rm -rf "$apt_dir"/{cache/archives,debs,source,given}
  mkdir -p "$apt_dir"/{cache/archives/partial,debs,source}
}

# prepare_private_apt [RELEASE]: the default is this machine's release.
prepare_private_apt() {
  local release=${1:-$(host_release)}
  if [[ -r $apt_dir/lists-of && $(<"$apt_dir/lists-of") == "$$ $release" ]]; then
    clear_private_apt
    [[ ! -e $apt_dir/out-of-date ]] || private_apt_options=(-o Acquire::Check-Valid-Until=false)
    return
  fi
  read_private_lists "$release"
  echo "$$ $release" >"$apt_dir/lists-of"
}

# A list that one mirror does not give is no reason to stop, because others stand in for that mirror.
require_private_lists() {
  local lacking
  lacking=$(not_fetched "$apt_dir/log")
  [[ -n $lacking ]] || return 0
  compgen -G "$apt_dir/lists/*_Packages*" >/dev/null ||
    die "Debian's package lists cannot be read; is the network up? $lacking"
  warn "a package list could not be fetched, and is done without: $lacking"
}

read_private_lists() { # RELEASE
  rm -rf "$apt_dir"
  mkdir -p "$apt_dir"/{sources,lists/partial}
  clear_private_apt
  write_private_sources "$1"
  if run_step "reading Debian's lists of binaries and sources" "$apt_dir/log" \
    private_apt apt-get update 2>"$apt_dir/failure"; then
    require_private_lists
    return
  fi
  # A mirror that keeps an earlier state of Debian has lists that are signed, and out of date. They are used for
  # files whose checksums known_servers.tsv has, or that the lists themselves have.
  if grep -q "Release file .* is expired" "$apt_dir/log"; then
    say "  the mirror's lists are older than they say that they are valid; they are used all the same"
    private_apt_options=(-o Acquire::Check-Valid-Until=false)
    touch "$apt_dir/out-of-date"
    if run_step "reading them again" "$apt_dir/log" private_apt apt-get update; then
      require_private_lists
      return
    fi
  fi
  cat "$apt_dir/failure" >&2
  die "Debian's package lists cannot be read; is the network up?"
}

# Prints the versions of the server to try, the best first: the version that this machine runs already
# (a library for it can then be installed), then from the newest downwards.
server_package_versions() {
  {
    installed_server_package
    private_apt apt-cache madison mariadb-server | awk -F' *\\| *' '{ print $2 }' | sort -Vru
  } | grep -F "1:${server_name#*-}." | awk '!seen[$0]++'
}

# Prints the first address that apt has for the server's release.
private_pool() {
  private_apt apt-get indextargets --format '$(REPO_URI)' "Codename: ${server_release[$server_name]}" | head -n 1
}

download_source() {
  cd "$apt_dir/source" && private_apt apt-get source --download-only "mariadb=$1"
}

download_binaries() {
  local name wanted=()
  if [[ $(private_apt apt-cache madison mariadb-server) == *" $1 "* ]]; then
    for name in "${server_binaries[@]}"; do
      wanted+=("$name=$1")
    done
  elif [[ $1 == "$(known_version)" ]]; then
    download_known binary "$apt_dir/debs" "$(private_pool)" || return 1
  else
    echo "Debian's lists do not offer MariaDB $1 any more"
    return 1
  fi
  for name in $(libraries_beside_server); do
    wanted+=("$name/${server_release[$server_name]}")
  done
  ((${#wanted[@]} == 0)) || (cd "$apt_dir/debs" && private_apt apt-get download "${wanted[@]}")
}
