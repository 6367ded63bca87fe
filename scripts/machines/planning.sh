# `millrace exec` plans anew when the CPUs available to the program change.
# CPUs: 8 16
. /cases/common.sh

last=$(($(nproc) - 1))
all=0-$last

# begin POLICY KIND...: starts a program under exec in the cpuset; $program is its process ID.
begin() {
  local policy=$1
  shift
  (in_cpuset $millrace exec --policy "$policy" -- $kinds 3600 "$@" >/tmp/exec.log 2>&1) & exec=$!
  within $patience found_program && within $patience threads_of "$program" $(($# + 1))
}
found_program() {
  program=$(pidof kinds)
  [ -n "$program" ] && echo "$program" >/tmp/program
}
# end NAME: ends the program and checks that no thread was taken to look after its own mask.
end() {
  kill -KILL "$program"
  wait $exec
  cat /tmp/exec.log
  check "$1" none_left_alone /tmp/exec.log
}
explain() {
  masks "$program"
}
# Prints how many CPUs the threads of a kind may use together.
cpus_together() {
  masks "$program" | awk -v name="$1" '$1 == name {print $2}' | tr , '\n' |
    awk -F- '{for (cpu = $1; cpu <= ($2 == "" ? $1 : $2); ++cpu) seen[cpu] = 1} END {for (cpu in seen) ++count; print count + 0}'
}
# at_least COUNT COMMAND...
at_least() {
  local least=$1
  shift
  [ "$("$@")" -ge "$least" ] || { echo "$* printed $("$@"), not $least or more" >/tmp/found && return 1; }
}
# Succeeds if each thread of kind sleep is pinned to its own CPU.
each_its_own() {
  same "$1" cpus_of "$program" sleep
}
within_cpus() {
  masks "$program" | awk '{print $2}' | tr ',-' '\n\n' | awk -v low="$1" '$1 < low {exit 1}'
}

cpuset $all
begin compact sleep sleep sleep
program=$(cat /tmp/program)
check_soon compact_has_room at_least 4 cpus_together sleep
cpuset 2-$last
check_soon compact_moved within_cpus 2
check_soon compact_has_room_in_a_smaller_cpuset at_least 4 cpus_together sleep
cpuset $all
check_soon compact_has_room_again at_least 4 cpus_together sleep
end compact_leaves_none_alone

begin one-to-one sleep sleep sleep
program=$(cat /tmp/program)
check_soon one_to_one_pins_each each_its_own 3
cpuset 4-$last
check_soon one_to_one_moved within_cpus 4
check_soon one_to_one_pins_each_that_has_a_core_in_a_smaller_cpuset each_its_own $(($(nproc) == 8 ? 0 : 3))
cpuset $all
check_soon one_to_one_pins_each_in_a_grown_cpuset each_its_own 3
online 2 0
online 4 0
check_soon one_to_one_pins_each_with_cpus_offline each_its_own 3
online 2 1
online 4 1
check_soon one_to_one_pins_each_with_cpus_online_again each_its_own 3
end one_to_one_leaves_none_alone
