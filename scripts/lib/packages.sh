# shellcheck shell=bash
# The Debian packages that each kind of work needs. Sourced by bootstrap.

# Prints the name of a library that Debian 13 has renamed, because its times have 64 bits there.
renamed_package() { # NAME_IN_DEBIAN_12
  if [[ $(debian_release) == bookworm ]]; then echo "$1"; else echo "$1t64"; fi
}

# Prints the packages of one kind of work; the sets do not include each other (see bootstrap), but for package, which
# compiles for servers that it names later.
packages_for() {
  case $1 in
    library)
      # The compiler, CMake, and the programs that CMake calls. A script of the build is Python without
      # packages.
      echo g++ cmake ninja-build make python3-minimal
      echo libssl-dev zlib1g-dev
      # To obtain and unpack the server's source.
      echo ca-certificates xz-utils
      ;;
    # What the server's own build needs, if Debian's build of its version cannot be downloaded.
    configure) echo bison pkg-config libncurses-dev libpcre2-dev liburing-dev libaio-dev ;;
    # Libraries that the server's programs load, and programs that they call, at run time.
    server)
      echo patchelf libnuma1 libsystemd0 liblz4-1 libzstd1 libedit2 libncurses6 libpcre2-8-0 liburing2 zlib1g perl python3
      renamed_package libaio1
      ;;
    unit) echo g++ cmake ninja-build python3-minimal ccache libgtest-dev nlohmann-json3-dev libcli11-dev libmariadb-dev libssl-dev ;;
    style) echo "clang-$(llvm_version)" "clang-format-$(llvm_version)" "clang-tidy-$(llvm_version)" ;;
    # The script that writes the seeds reads JSON, which python3-minimal does not have.
    fuzz) echo g++ cmake ninja-build python3 ccache "clang-$(llvm_version)" "libclang-rt-$(llvm_version)-dev" nlohmann-json3-dev libssl-dev ;;
    load) echo g++ cmake ninja-build python3-minimal nlohmann-json3-dev libcli11-dev libmariadb-dev libssl-dev ;;
    # valgrind counts instructions; ip gives the network of a test its addresses; Redis's tests are Tcl.
    live) echo tcl ccache python3 python3-venv strace libdbi-perl libsasl2-modules libdbd-mysql-perl libmemcached-tools "$(renamed_package libevent-2.1-7)" valgrind openssl iproute2 ;;
    # scripts/bench measures these servers, too, or uses their clients. redis-tools has the server program as
    # well.
    bench) echo ccache python3 python3-venv "$(renamed_package libevent-2.1-7)" redis-tools sysbench openssl ;;
    # A program of another release of Debian runs with that release's libraries.
    peers) echo patchelf ;;
    # A node that joins a Galera cluster copies the data of another one with rsync and lsof, or socat.
    cluster) echo rsync lsof socat haproxy ;;
    package)
      packages_for library
      # dpkg-buildpackage asks for build-essential by its name, whatever debian/control says.
      echo build-essential debhelper fakeroot git python3
      ;;
    bare-test) echo debootstrap ;;
    package-test) echo debootstrap lintian podman runc systemd-container ;;
    *) die "scripts/bootstrap knows no kind of work named '$1'" ;;
  esac
}

# missing_packages PACKAGE...: prints the packages that are not installed.
missing_packages() {
  comm -23 <(printf '%s\n' "$@" | sort -u) \
    <(dpkg-query -W -f '${Package} ${Status}\n' "$@" 2>/dev/null |
      sed -nE 's/ (install|hold) ok installed$//p' | sort -u)
}

# For so many seconds another apt-get may hold its locks.
apt_lock_s=300

is_root() { ((EUID == 0)); }

as_root() {
  if is_root; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo -n "$@" # A password that is asked for here would not be seen.
  else
    return 127
  fi
}

# sudo keeps no variables, and a proxy may have no other place. A plain su keeps the user's PATH, which lacks
# the sbin folders in which dpkg looks for ldconfig and start-stop-daemon; sudo sets root's.
apt_install() {
  local name settings=()
  ! is_root || settings+=("PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin")
  for name in http_proxy https_proxy ftp_proxy no_proxy; do
    [[ -z ${!name-} ]] || settings+=("$name=${!name}")
  done
  as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive "${settings[@]}" apt-get -q -y \
    -o DPkg::Lock::Timeout="$apt_lock_s" "$@"
}

# apt-get's timeout is for dpkg's lock alone. The lock of the lists, which the machine's own apt-daily
# takes soon after its start, has to be tried again.
refresh_package_lists() {
  local started=$SECONDS output
  until output=$(apt_install update 2>&1); do
    printf '%s\n' "$output"
    [[ $output == *"Could not get lock"* ]] && ((SECONDS - started < apt_lock_s)) || return 1
    sleep 2
  done
  printf '%s\n' "$output"
}

# The first file that an `apt-get update` could not fetch, with the reason: apt-get only warns, and succeeds even if
# nothing could be fetched. Prints nothing if all is there.
not_fetched() { # LOG
  sed -n '/^W: Failed to fetch /{s///p;q}' "$1"
}

# install_missing_packages WORK...: installs the packages that these kinds of work need.
install_missing_packages() {
  local missing log work lacking wanted=()
  for work; do
    mapfile -t -O "${#wanted[@]}" wanted < <(packages_for "$work" | tr ' ' '\n')
  done
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  ((${#missing[@]})) || return 0
  [[ -r /etc/debian_version ]] || die "this is written for Debian 12; it has no apt-get"
  if ! is_root; then
    command -v sudo >/dev/null ||
      die "as root, install these packages, then run this again: ${missing[*]}"
    # sudo asks for a password here, where the user sees it, and not in a log file.
    { sudo true && sudo -n true; } ||
      die "sudo is refused, or asks each time: as root, install these packages: ${missing[*]}"
  fi
  log=$(mktemp)
  run_step "refreshing the package lists, after any other apt-get that is at work" "$log" \
    refresh_package_lists || die "apt-get update failed; is the network up?"
  lacking=$(not_fetched "$log")
  run_step "installing ${#missing[@]} packages: ${missing[*]}" "$log" \
    apt_install install --no-install-recommends "${missing[@]}" ||
    die "apt-get install failed${lacking:+; a package list could not be fetched, is the network up? $lacking}"
  rm -f "$log"
}
