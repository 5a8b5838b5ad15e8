# shellcheck shell=bash
# How many compilers run at a time. Sourced by build and package.

# The memory that the compiler needs for the largest file.
compiler_mb=700

# Files with limits of memory in bytes: those of this process's group and the groups above it in cgroup version 2, and
# of the container's root group in version 1. A machine has some of them; one without a limit says max, or a huge
# number.
memory_limit_files() {
  local group
  group=$(sed -n 's/^0:://p' /proc/self/cgroup 2>/dev/null) || true
  # The group of a session may have no limit although the group of its user or slice has one.
  for (( ; ; )); do
    group=${group%/}
    printf '%s\n' "/sys/fs/cgroup$group/memory.max"
    [[ -n $group ]] || break
    group=${group%/*}
  done
  printf '%s\n' /sys/fs/cgroup/memory/memory.limit_in_bytes
}

# memory_mb MEMINFO LIMIT_FILE...: prints the free memory, or the least limit if that is less.
memory_mb() {
  local file limit least
  least=$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' "$1" 2>/dev/null) || true
  for file in "${@:2}"; do
    limit=$(cat "$file" 2>/dev/null) || continue
    # A number of more than 15 digits means no limit.
    [[ $limit =~ ^[0-9]{1,15}$ ]] || continue
    limit=$((limit >> 20))
    [[ -n $least ]] && ((least < limit)) || least=$limit
  done
  echo "$least"
}

# Lets cmake --build, and packaging/debian/rules, run fewer compilers if there is too little memory for as many as Ninja
# runs: two more than there are processors. Does not change a number that the caller has set.
limit_jobs() { # [MEMINFO LIMIT_FILE...]
  local memory jobs files
  [[ -z ${CMAKE_BUILD_PARALLEL_LEVEL-} ]] || return 0
  mapfile -t files < <(memory_limit_files)
  (($# > 0)) || set -- /proc/meminfo "${files[@]}"
  memory=$(memory_mb "$@")
  [[ -n $memory ]] || return 0
  jobs=$((memory / compiler_mb))
  ((jobs < $(nproc) + 2)) || return 0
  ((jobs > 0)) || jobs=1
  export CMAKE_BUILD_PARALLEL_LEVEL=$jobs
  say "compilers at a time: $jobs, because there are $memory MB of memory for them"
}
