# shellcheck shell=bash
# The Debian packages that building, running and testing need. Sourced by bootstrap.

debian_packages=(
  # Compilers and build tools.
  g++ cmake ninja-build make pkg-config ccache clang-14 libclang-rt-14-dev libgtest-dev
  nlohmann-json3-dev
  # To configure the server's source, whose private headers the library is compiled with.
  bison libncurses-dev libssl-dev zlib1g-dev libpcre2-dev liburing-dev libaio-dev libxml2-dev
  # To obtain the server.
  dpkg-dev ca-certificates xz-utils
  # What the server's programs load or call when they run.
  libnuma1 libsystemd0 liblz4-1 libzstd1 libedit2 perl
  # The load generator.
  libcli11-dev libmariadb-dev
  # Tests. valgrind counts instructions.
  python3 python3-venv strace libdbi-perl libdbd-mysql-perl libmemcached-tools libevent-2.1-7 valgrind
  # What scripts/bench measures beside it, and with. redis-tools holds the server program, too.
  redis-tools sysbench
)

missing_packages() {
  comm -23 <(printf '%s\n' "${debian_packages[@]}" | sort -u) \
    <(dpkg-query -W -f '${Package} ${Status}\n' "${debian_packages[@]}" 2>/dev/null |
      sed -n 's/ install ok installed$//p' | sort -u)
}

as_root() {
  if [[ $EUID -eq 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    return 127
  fi
}

apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@"
}

install_missing_packages() {
  local missing log
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]})) || return 0
  [[ -r /etc/debian_version ]] || die "this is written for Debian 12; it has no apt-get"
  if [[ $EUID -ne 0 ]]; then
    command -v sudo >/dev/null ||
      die "as root, install these packages, then run this again: ${missing[*]}"
    # A password is asked for here, not behind a log file.
    sudo true || die "sudo is refused: as root, install these packages: ${missing[*]}"
  fi
  log=$(mktemp)
  run_step "refreshing the package lists" "$log" apt_install update ||
    die "apt-get update failed; is the network up?"
  run_step "installing ${#missing[@]} packages: ${missing[*]}" "$log" \
    apt_install install --no-install-recommends "${missing[@]}" ||
    die "apt-get install failed"
  rm -f "$log"
}
