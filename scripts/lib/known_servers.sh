# shellcheck shell=bash disable=SC2154 # reads what its users set
# The version of each server with which the library was tested. Debian's lists name only the newest version of a
# release, whose source cannot be downloaded everywhere; the pool keeps the files of earlier versions for a while.
# Sourced by bootstrap and by test.

known_servers=$repo_dir/scripts/lib/known_servers.tsv

# The package version in known_servers.tsv; empty for a server without one.
known_version() { awk -F'\t' -v server="$server_name" '$1 == server { print $2; exit }' "$known_servers"; }

# download_known KIND FOLDER POOL [PACKAGE]: downloads the files of that version, or of one package. apt-helper compares
# each with its checksum. Fails if there is none.
download_known() {
  local server file_kind hash path found=1
  while IFS=$'\t' read -r server _ file_kind hash path; do
    [[ $server == "$server_name" && $file_kind == "$1" ]] || continue
    [[ -z ${4-} || ${path##*/} == "$4"_* ]] || continue
    /usr/lib/apt/apt-helper download-file "${3%/}/$path" "$2/${path##*/}" "SHA256:$hash" || return 1
    found=0
  done <"$known_servers"
  return "$found"
}
