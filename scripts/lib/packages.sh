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
      sed -nE 's/ (install|hold) ok installed$//p' | sort -u)
}

# Seconds that another apt-get may be at work.
apt_lock_s=300

as_root() {
  if [[ $EUID -eq 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo -n "$@" # A password that is asked for here would not be seen.
  else
    return 127
  fi
}

apt_install() {
  as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -q -y \
    -o DPkg::Lock::Timeout="$apt_lock_s" "$@"
}

# The timeout is for dpkg's lock alone. That of the lists, which the machine's own apt-daily takes soon
# after its start, has to be asked for again.
refresh_package_lists() {
  local started=$SECONDS output
  until output=$(apt_install update 2>&1); do
    printf '%s\n' "$output"
    [[ $output == *"Could not get lock"* ]] && ((SECONDS - started < apt_lock_s)) || return 1
    sleep 2
  done
  printf '%s\n' "$output"
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
    { sudo true && sudo -n true; } ||
      die "sudo is refused, or asks each time: as root, install these packages: ${missing[*]}"
  fi
  log=$(mktemp)
  run_step "refreshing the package lists, after any other apt-get that is at work" "$log" \
    refresh_package_lists || die "apt-get update failed; is the network up?"
  run_step "installing ${#missing[@]} packages: ${missing[*]}" "$log" \
    apt_install install --no-install-recommends "${missing[@]}" ||
    die "apt-get install failed"
  rm -f "$log"
}
