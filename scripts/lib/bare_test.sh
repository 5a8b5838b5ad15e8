# shellcheck shell=bash disable=SC2154 # reads what test sets
# Runs the README's two commands, as a newcomer would, on a machine that has nothing but Debian's minimal
# system and git: a chroot with namespaces of its own, whose network is this machine's, for apt and pip.
# Sourced by test, after package_test.sh. Needs root, debootstrap and Debian's mirror.

declare -A suite_of_release=([12]=bookworm [13]=trixie)

usage_of_bare="usage: scripts/test bare [--release 12|13] [--first-command] [--server NAME]"

# Copies the certificate authorities that this machine's administrator has added: without them, a network that looks
# into TLS would make the commands fail.
take_over_authorities() { # FOLDER
  cp /usr/local/share/ca-certificates/*.crt "$1/usr/local/share/ca-certificates/" 2>/dev/null || return 0
  on_machine "$1" update-ca-certificates
}

# Gives the machine its own names, and Debian's lists of the release with its updates and security updates.
make_bare_machine() { # FOLDER SUITE MIRROR SECURITY
  debootstrap --variant=minbase --include=ca-certificates,git "$2" "$1" "$3" &&
    printf 'deb %s %s main\ndeb %s %s-updates main\ndeb %s %s-security main\n' "$3" "$2" "$3" "$2" "$4" "$2" \
      >"$1/etc/apt/sources.list" &&
    cp /etc/resolv.conf /etc/hosts "$1/etc/" &&
    take_over_authorities "$1" &&
    on_machine "$1" apt-get update &&
    git clone --quiet --no-hardlinks "$repo_dir" "$1/opt/rowsocket"
}

# The last step in the chroot: runs the commands one after the other, with quickstart's server still up.
bare_commands() { # COMMAND...
  local command
  # A real machine has a file system in memory there: without it InnoDB would take the log's disk for memory.
  printf 'set -e; mount -t tmpfs tmpfs /dev/shm; cd /opt/rowsocket; export HOME=/opt\n'
  for command; do
    # shellcheck disable=SC2016 # the machine's own shell counts
    printf 'echo "== %s"; SECONDS=0; %s; echo "$SECONDS s  %s" >>/opt/times\n' "$command" "$command" "$command"
  done
}

run_bare_test() {
  local release=12 commands=(scripts/quickstart scripts/test) server=() suite mirror security work
  while (($#)); do
    case $1 in
      --release)
        [[ -n ${2-} ]] || die "$usage_of_bare"
        release=$2
        shift
        ;;
      --first-command) commands=(scripts/quickstart) ;;
      --server)
        use_server "${2-}"
        server=(--server "$2")
        shift
        ;;
      *) die "$usage_of_bare" ;;
    esac
    shift
  done
  suite=${suite_of_release[$release]-}
  [[ -n $suite ]] || die "$usage_of_bare"
  ((EUID == 0)) || die "scripts/test bare needs root: it makes a chroot"
  commands=("${commands[@]/%/${server[*]:+ ${server[*]}}}")
  heading "the README's commands on a bare Debian $release: ${commands[*]}"
  "$repo_dir/scripts/bootstrap" bare-test
  mirror=$(mirror_of "$(debian_release)") security=$(mirror_of "$(debian_release)-security")
  [[ -n $mirror && -n $security ]] || die "apt has no entry for Debian, or none for its security updates"
  work=$(mktemp -d /var/tmp/rowsocket-bare-XXXXXX)
  # shellcheck disable=SC2064 # the folder's present name
  trap "rm -rf '$work'" EXIT
  run_step "making a machine of Debian $release" "$work/machine.log" \
    make_bare_machine "$work/machine" "$suite" "$mirror" "$security" || die "debootstrap failed"
  if ! on_machine "$work/machine" bash -c "$(bare_commands "${commands[@]}")"; then
    say "the machine is no more; its last output is above"
    say "bare: 0 passed, 1 failed"
    exit 1
  fi
  heading "the commands on a bare Debian $release"
  cat "$work/machine/opt/times"
  du -sm "$work/machine/var/cache/rowsocket" "$work/machine/opt/rowsocket" | sed "s#$work/machine#MB in #"
  say "bare: ${#commands[@]} passed, 0 failed"
}
