# The daemon places programs anew when their cpuset or the online CPUs change, and restores all masks when it ends.
# CPUs: 8 16
. /cases/common.sh

last=$(($(nproc) - 1))
all=0-$last
# Four threads on three cores if one of four is offline, and on four if there are eight.
with_a_core_offline=$(($(nproc) == 8 ? 3 : 4))
printf 'act = true\nrule = "workover"\njudge = false\nbudget = 50\nmachine = "believe"\n' >/tmp/daemon.toml

daemon_begins() {
  $millrace daemon --config /tmp/daemon.toml >>/tmp/daemon.log 2>&1 & daemon=$!
  check_soon daemon_answers daemon_knows
  $millrace watch $program
}
daemon_knows() {
  $millrace status >/dev/null 2>&1
}
kill_daemon() {
  kill -KILL $daemon
  wait $daemon 2>/dev/null
  rm -f /run/millrace-daemon.sock
}
explain() {
  masks $program
  $millrace status
  $millrace status --json
}
# Succeeds if all four threads are pinned, to so many cores together. The siblings of a core have adjacent numbers.
on_cores() {
  same "4 on $1 cores" pinned_on
}
pinned_on() {
  masks $program | awk '$1 == "fp" && $2 !~ /[-,]/ {++count; cores[int($2 / 2)] = 1}
    END {for (core in cores) ++different; print count + 0, "on", different + 0, "cores"}'
}
as_untouched() {
  same "$(all_masks $untouched)" all_masks $program
}

cpuset 0-3
(in_cpuset $kinds 3600 fp fp fp fp) & program=$!
(in_cpuset $kinds 3600 sleep sleep sleep sleep) & untouched=$!
within $patience threads_of $program 5 && within $patience threads_of $untouched 5

daemon_begins
check_soon daemon_places on_cores 2
cpuset $all
check_soon daemon_places_in_a_grown_cpuset on_cores 4
cpuset 0-3
check_soon daemon_places_in_a_shrunk_cpuset on_cores 2
cpuset $all
check_soon daemon_places_in_a_cpuset_grown_again on_cores 4
$millrace unwatch $program
check_soon daemon_unwatched as_untouched
cpuset 0-3
check_soon daemon_unwatched_and_shrunk as_untouched
cpuset $all
check_soon daemon_unwatched_and_grown as_untouched

$millrace watch $program
check_soon daemon_places_again on_cores 4
cpuset 0-3
check_soon daemon_to_be_killed_places on_cores 2
kill_daemon
check_soon daemon_killed_in_a_shrunk_cpuset as_untouched
cpuset $all
check_soon daemon_killed_in_a_shrunk_cpuset_and_grown as_untouched

for cpu in 4 5; do online $cpu 0; done
daemon_begins
check_soon next_daemon_places_with_cpus_offline on_cores $with_a_core_offline
for cpu in 4 5; do online $cpu 1; done
check_soon next_daemon_places_with_cpus_online_again on_cores 4
for cpu in 2 3; do online $cpu 0; done
check_soon next_daemon_places_with_other_cpus_offline on_cores $with_a_core_offline
kill_daemon
check_soon next_daemon_killed_with_cpus_offline as_untouched
for cpu in 2 3; do online $cpu 1; done
check_soon next_daemon_killed_with_cpus_online_again as_untouched
