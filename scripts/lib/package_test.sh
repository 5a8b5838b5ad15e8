# shellcheck shell=bash disable=SC2154 # reads what test sets
# Tests the packages: two builds give the same bytes, lintian finds no fault, the container's image serves a row, and the
# packages live on a machine that has only apt. Sourced by test. Needs root (a chroot in namespaces of its own) and
# Debian's mirror.

# Prints the address from which this machine's apt gets Debian's packages, or its security updates.
mirror_of() { # SUITE
  apt-get indextargets --format '$(RELEASE) $(REPO_URI)' "Created-By: Packages" |
    awk -v suite="$1" '$1 == suite { print $2; exit }'
}

# A chroot of a release without a server and without security updates.
make_machine() { # FOLDER SUITE MIRROR
  debootstrap --variant=minbase --include=ca-certificates "$2" "$1" "$3" &&
    printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d" && chmod +x "$1/usr/sbin/policy-rc.d" &&
    cp /etc/resolv.conf "$1/etc/resolv.conf" &&
    # A mirror may be a copy whose lists of sid are no longer valid.
    echo 'Acquire::Check-Valid-Until "false";' >"$1/etc/apt/apt.conf.d/90-old-mirror" &&
    on_machine "$1" apt-get update
}

# Installs the release's stock server with the packages that it recommends. If the release has moved on to a version
# whose source cannot be downloaded, installs the version before.
install_server() { # FOLDER MIRROR
  local offered
  offered=$(on_machine "$1" apt-cache policy "$server_family-server-core" | sed -n 's/ *Candidate: //p')
  if [[ $offered == "$(known_version)" || $offered == "$(load_server_env && echo "$ROWSOCKET_SERVER_PACKAGE")" ]]; then
    on_machine "$1" apt-get install -y "$server_family-server"
  else
    mkdir "$1/srv/server" "$1/srv/companions" && download_known binary "$1/srv/server" "$2" &&
      if [[ $server_family == mariadb ]]; then
        # apt offers only the companions of the newer server.
        download_known companion "$1/srv/companions" "$2" && download_known backup "$1/srv/companions" "$2"
      else
        download_known machine "$1/srv/server" "$2"
      fi &&
      on_machine "$1" bash -c 'apt-get install -y /srv/server/*.deb'
  fi
}

# The processes of the chroot end with it, and see no others. The network is the host's, for apt, and so is the proxy.
on_machine() { # FOLDER COMMAND...
  local folder=$1 name settings=()
  shift
  for name in http_proxy https_proxy ftp_proxy no_proxy; do
    [[ -z ${!name-} ]] || settings+=("$name=${!name}")
  done
  unshare --mount --pid --fork --kill-child --mount-proc="$folder/proc" chroot "$folder" \
    /usr/bin/env -i HOME=/ TERM=dumb DEBIAN_FRONTEND=noninteractive \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${settings[@]}" "$@" </dev/null
}

# Boots the machine with systemd, without a network, until booted.sh turns it off.
boot_machine() { # FOLDER
  on_machine "$1" apt-get install -y --no-install-recommends systemd-sysv dbus >"$repo_dir/dist/boot.log" 2>&1 || return 1
  rm "$1/usr/sbin/policy-rc.d"
  cp "$repo_dir/tests/package/booted.sh" "$1/srv/"
  printf '[Unit]\nAfter=mariadb.service\n[Service]\nType=oneshot\nExecStart=/bin/bash /srv/booted.sh\n' \
    >"$1/etc/systemd/system/booted.service"
  mkdir -p "$1/etc/systemd/system/multi-user.target.wants"
  ln -s ../booted.service "$1/etc/systemd/system/multi-user.target.wants/"
  run_step "booting the machine with systemd" "$repo_dir/dist/boot.log" \
    timeout 300 systemd-nspawn --quiet --boot --directory "$1" --register=no --keep-unit --private-network \
    --resolv-conf=off --machine "rowsocket-test-$$" </dev/null || true
  [[ -e $1/srv/booted.ok ]]
}

# Tests the image of packaging/Containerfile, made from a machine without a server, with and without security updates;
# if the release offers no server for which there is a library, from the machine with its server.
run_container_tests() { # MACHINE SUITE MIRROR SECURITY
  local base list=$1/etc/apt/sources.list.d/security.list bases=("without security updates")
  [[ -z $4 ]] || bases+=("with security updates")
  [[ $2 == bookworm ]] || { install_on_machine "$@" && bases=("with its server"); }
  for base in "${bases[@]}"; do
    [[ $base != "with security updates" ]] || echo "deb $4 $2-security main" >"$list"
    tar -C "$1" -cf "$work/base.tar" .
    run_step "building the container's image of a machine $base, and starting it" "$repo_dir/dist/container.log" \
      bash "$repo_dir/tests/package/container.sh" "$work/podman" "$work/base.tar" "$repo_dir/dist" ||
      die "the container failed"
  done
  rm -f "$list" "$work/base.tar"
}

install_on_machine() { # MACHINE SUITE MIRROR ...
  run_step "installing the server of Debian $2" "$repo_dir/dist/server.log" install_server "$1" "$3" ||
    die "the server could not be installed"
}

build_again_elsewhere() {
  git clone --quiet --no-hardlinks "$repo_dir" "$work/again" && "$work/again/scripts/package" "${in_package[@]}"
}

run_package_tests() {
  local work suite=${server_release[$server_name]} mirror security in_package=(--server "${servers[0]}")
  # One loader, built with the first server, loads the right library for each line of MariaDB.
  if [[ $server_family == mysql ]]; then
    in_package=(--server "$server_name")
  elif [[ $server_name != "${servers[0]}" ]]; then
    in_package+=(--server "$server_name")
  fi
  ((EUID == 0)) || die "scripts/test package needs root: it makes a chroot"
  heading "packages for $server_name on Debian $suite"
  "$repo_dir/scripts/bootstrap" package-test
  "$repo_dir/scripts/package" "${in_package[@]}"
  work=$(mktemp -d /var/tmp/rowsocket-package-XXXXXX)
  # shellcheck disable=SC2064 # the folder's name at this moment
  trap "rm -rf '$work'" EXIT
  run_step "building them again in another folder" "$repo_dir/dist/again.log" build_again_elsewhere ||
    die "the second build failed"
  # The first folder may also have packages for the other family of servers.
  (cd "$work/again/dist" && sha256sum -- *.deb) | (cd "$repo_dir/dist" && sha256sum --check --quiet) ||
    die "the same commit gave other bytes"
  lintian --allow-root --fail-on error,warning "$work"/again/dist/*.deb || die "lintian found something"
  mirror=$(mirror_of "$(debian_release)")
  [[ -n $mirror ]] || die "apt has no entry for Debian"
  security=$(mirror_of "$(debian_release)-security")
  # The newer server of Debian 12 is a security update; that of Debian 13 is in the release itself.
  [[ $suite == bookworm ]] || security=''
  run_step "making a machine of Debian $suite" "$repo_dir/dist/machine.log" \
    make_machine "$work/machine" "$suite" "$mirror" || die "debootstrap failed"
  if [[ $server_family == mysql ]]; then
    install_on_machine "$work/machine" "$suite" "$mirror"
    cp "$repo_dir"/dist/mysql-plugin-rowsocket_*.deb "$repo_dir"/tests/package/{machine,inside_mysql}.sh \
      "$work/machine/srv/"
    on_machine "$work/machine" bash /srv/inside_mysql.sh
    say "1 passed, 0 failed"
    return
  fi
  run_container_tests "$work/machine" "$suite" "$mirror" "$security"
  [[ $suite != bookworm ]] || install_on_machine "$work/machine" "$suite" "$mirror"
  cp "$repo_dir"/dist/mariadb-plugin-rowsocket_*.deb "$repo_dir"/tests/package/{machine,inside}.sh \
    "$work/machine/srv/"
  git clone --quiet --no-hardlinks "$repo_dir" "$work/machine/srv/checkout"
  on_machine "$work/machine" bash /srv/inside.sh "$security" "$suite"
  boot_machine "$work/machine" || die "the booted machine failed: $(tail -n 30 "$work/machine/srv/booted.log")"
  say "1 passed, 0 failed"
}
