# shellcheck shell=bash disable=SC2154 # shares its variables with bootstrap and test
# Views of the cache: folders of links that show only what the bootstraps of one piece of work have asked
# for. In a view a missing step fails, even on a machine where an earlier run has left what the step would
# obtain. Sourced by bootstrap, after its caches' own files, and by test.
#
# VIEW/NAME          a server's cache, or, if only a library was asked for, a folder that has the
#                    source and the generated headers, and names no data directory
# VIEW/memcached, VIEW/redis, VIEW/prometheus, VIEW/valkey, VIEW/venv-HASH
# VIEW/view-of       the path of the store
# Compiled files (ccache), marks of what clang-tidy has passed (lib/tidy.py), and what a test or scripts/cluster
# obtains by itself, when it needs it, stay in the store, and every view may use them.

# Links what the kinds of work in `works` need from the store into the view, as far as it already exists.
show_in_view() {
  if for_work server; then
    show_server
  elif for_work library && [[ ! -e $cache_dir/$server_name/env ]]; then
    show_library
  fi
  if for_work live; then
    ln -sfn "$(realpath -e "$store_dir/prometheus")" "$cache_dir/prometheus"
    ln -sfn "$(realpath -e "$store_dir/redis")" "$cache_dir/redis"
  fi
  if for_work peers; then ln -sfn "$(realpath -e "$store_dir/valkey")" "$cache_dir/valkey"; fi
  if for_work live || for_work bench; then
    ln -sfn "$(realpath -e "$store_dir/memcached")" "$cache_dir/memcached"
    ln -sfn "$store_dir/$(basename "$(venv_dir)")" "$(venv_dir)"
  fi
}

show_server() { ln -sfnT "$(realpath -e "$store_dir/$server_name")" "$cache_dir/$server_name"; }

# scripts/package tells the family of a server by the name of its folder, so the folder keeps that name.
show_library() {
  local made folder
  made=$(realpath -e "$store_dir/$server_name")
  folder=$cache_dir/$(basename "$made")
  mkdir -p "$folder"
  ln -sfn "$made/source" "$made/build" "$folder/"
  grep -v '^ROWSOCKET_SERVER_DATADIR=' "$made/env" >"$folder/env"
  ln -sfnT "$folder" "$cache_dir/$server_name"
}

# use_view FOLDER: from now on this process, and the programs that it calls, see the cache through a new view there.
use_view() {
  mkdir -p "$1"
  printf '%s\n' "$store_dir" >"$1/view-of"
  export ROWSOCKET_CACHE=$1
  cache_dir=$1
}
