# Shared functions of the cases. The second line of each case names the numbers of CPUs it runs on. A case begins with `.
# /cases/common.sh`, and prints "ok NAME", "not ok NAME" or "skip NAME: REASON" for every check. It may leave behind
# processes, control groups and offline CPUs. The shell is busybox's.

millrace=$MILLRACE_BUILD/src/millrace/cli/millrace
kinds=$MILLRACE_BUILD/src/millrace/intensity/testing/kinds
group=/sys/fs/cgroup/case

# seconds: prints the time since boot.
seconds() {
  cut -d. -f1 /proc/uptime
}

# within SECONDS COMMAND...: succeeds if the command succeeds in that time. It is tried at least three times.
within() {
  local end=$(($(seconds) + $1)) tries=0
  shift
  while [ $((tries += 1)) -le 3 ] || [ "$(seconds)" -lt $end ]; do
    "$@" && return
    sleep .3
  done
  return 1
}

# explain: prints what helps to understand a failure. A case may define its own.
explain() {
  :
}

# check NAME COMMAND...: passes if the command succeeds. If not, the file "found" and explain say what was wrong.
check() {
  local name=$1
  shift
  : >/tmp/found
  if "$@"; then
    echo "ok $name"
  else
    { cat /tmp/found && explain; } 2>&1 | sed 's/^/  /'
    echo "not ok $name: $*"
  fi
}

# check_soon NAME COMMAND...: passes if the command succeeds within $patience seconds. Emulated machines are slow, the
# more so beside other work: only failures take this long.
patience=120
check_soon() {
  local name=$1
  shift
  check "$name" within $patience "$@"
}

# same EXPECTED COMMAND...: succeeds if the command prints EXPECTED.
same() {
  local expected=$1 found
  shift
  found=$("$@" 2>&1)
  [ "$found" = "$expected" ] || { echo "$* printed '$found', not '$expected'" >/tmp/found && return 1; }
}

# Prints the mask of every thread of a process, one per line: "NAME MASK". "main" is the first thread, whatever its name.
masks() {
  local task name
  for task in /proc/"$1"/task/*; do
    if [ "${task##*/}" = "$1" ]; then name=main; else name=$(cat "$task/comm"); fi
    awk -v name="$name" '/^Cpus_allowed_list/ {print name, $2}' "$task/status"
  done 2>/dev/null
}

# all_masks PID: prints the distinct masks of the threads: "0-7", or "0,2 4".
all_masks() {
  masks "$1" | awk '{print $2}' | sort -u | xargs
}

# masks_of PID NAME: prints the masks of the threads of that name, each with its number of threads: "1x0 1x2".
masks_of() {
  masks "$1" | awk -v name="$2" '$1 == name {++count[$2]} END {for (mask in count) print count[mask] "x" mask}' | sort | xargs
}

# cpus_of PID NAME: prints how many CPUs the threads of that name are pinned to, each to its own; 0 if any has a wider
# mask or two have the same.
cpus_of() {
  masks "$1" | awk -v name="$2" '$1 == name {if ($2 ~ /[-,]/ || seen[$2]++) shared = 1; ++count} END {print shared ? 0 : count + 0}'
}

# none_left_alone LOG: succeeds if exec's summary in the log tells of no thread that looks after its own mask.
none_left_alone() {
  ! grep "left alone" "$1" >/tmp/found
}

# online CPU 0|1
online() {
  echo "$2" >"/sys/devices/system/cpu/cpu$1/online"
}

# cpuset CPUS: assigns these CPUs to the case's control group, which is created on first use.
cpuset() {
  if [ ! -d $group ]; then
    echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control
    mkdir $group
  fi
  echo "$1" >$group/cpuset.cpus
}

# in_cpuset COMMAND...: replaces the calling shell by the command, in that group: `in_cpuset COMMAND & pid=$!`.
in_cpuset() {
  echo 0 >$group/cgroup.procs
  exec "$@"
}

# threads_of PID COUNT: succeeds if the process has COUNT threads.
threads_of() {
  [ "$(ls "/proc/$1/task" 2>/dev/null | wc -l)" = "$2" ]
}

# gtest PROGRAM FILTER: runs the tests; each is a check.
gtest() {
  "$MILLRACE_BUILD/src/millrace/$1" --gtest_filter="$2" --gtest_color=no 2>&1 | tee /tmp/gtest | awk '
    /^\[       OK \] .* \([0-9]+ ms\)$/ {print "ok " $4; next}
    /^\[  FAILED  \] .* \([0-9]+ ms\)$/ {sub(/,$/, "", $4); print "not ok " $4; next}
    /^\[  SKIPPED \] .* \([0-9]+ ms\)$/ {print "skip " $4 ": " reason; next}
    /: Skipped$/ {getline; reason = $0; next}
    {print "  " $0}'
  grep -q '^\[==========\].*ran\.' /tmp/gtest || echo "not ok $1 did not end by itself"
}
