# shellcheck shell=bash disable=SC2154 # reads what its users set
# The version of each server with which the library was tested. Debian's lists name only the newest version of
# a release, whose source is not to be had everywhere; the pool keeps the files of earlier versions for a
# while. Sourced by bootstrap and by test.

known_servers=$repo_dir/scripts/lib/known_servers.tsv

# The package version in known_servers.tsv; empty for a server without one.
known_version() { awk -F'\t' -v server="$server_name" '$1 == server { print $2; exit }' "$known_servers"; }

# download_known KIND FOLDER POOL: the files of that version. apt-helper compares each with its checksum.
download_known() {
  local server file_kind hash path
  while IFS=$'\t' read -r server _ file_kind hash path; do
    [[ $server == "$server_name" && $file_kind == "$1" ]] || continue
    /usr/lib/apt/apt-helper download-file "${3%/}/$path" "$2/${path##*/}" "SHA256:$hash" || return 1
  done <"$known_servers"
}
