# The daemon places programs anew when their cpuset or the online CPUs change, and restores all masks when it ends.
# CPUs: 8 16
. /cases/common.sh

last=$(($(nproc) - 1))
all=0-$last
printf 'act = true\nrule = "workover"\njudge = false\nbudget = 50\nmachine = "believe"\n' >/tmp/daemon.toml

begin() {
  (in_cpuset $kinds 600 int fp int fp) & program=$!
  (in_cpuset $kinds 600 sleep sleep sleep sleep) & untouched=$!
  within 10 threads_of $program 5
  $millrace daemon --config /tmp/daemon.toml >/tmp/daemon.log 2>&1 & daemon=$!
  within 20 $millrace status >/dev/null
  $millrace watch $program || echo "not ok daemon_watches"
}
end() {
  kill -KILL $daemon $program $untouched 2>/dev/null
  wait 2>/dev/null
  cat /tmp/daemon.log
  rm -f /run/millrace-daemon.sock
}
placed() {
  [ "$(all_masks $program)" != "$(all_masks $untouched)" ]
}
as_untouched() {
  same "$(all_masks $untouched)" all_masks $program
}
# Succeeds if a thread is placed on a CPU from $1 on.
placed_from() {
  placed && masks $program | grep -v '^main' | awk '{print $2}' | tr ',-' '\n\n' | awk -v low="$1" '$1 >= low {found = 1} END {exit !found}'
}
# Succeeds if no thread is.
placed_below() {
  placed && masks $program | awk '{print $2}' | tr ',-' '\n\n' | awk -v high="$1" '$1 >= high {exit 1}'
}

cpuset 0-3
begin
check_soon daemon_places placed_below 4
cpuset $all
check_soon daemon_places_in_a_grown_cpuset placed_from 4
cpuset 0-3
check_soon daemon_places_in_a_shrunk_cpuset placed_below 4
cpuset $all
check_soon daemon_places_in_a_cpuset_grown_again placed_from 4
$millrace unwatch $program
check_soon daemon_unwatched as_untouched
cpuset 0-3
check_soon daemon_unwatched_and_shrunk as_untouched
cpuset $all
check_soon daemon_unwatched_and_grown as_untouched
end

cpuset 0-3
begin
check_soon daemon_to_be_killed_places placed
kill -KILL $daemon
check_soon daemon_killed as_untouched
cpuset $all
check_soon daemon_killed_and_grown as_untouched
end

cpuset $all
begin
check_soon daemon_with_all_cpus_places placed
cpuset 0-3
check_soon daemon_to_be_killed_in_a_shrunk_cpuset_places placed_below 4
kill -KILL $daemon
check_soon daemon_killed_in_a_shrunk_cpuset as_untouched
cpuset $all
check_soon daemon_killed_in_a_shrunk_cpuset_and_grown as_untouched
end

for cpu in 4 5; do online $cpu 0; done
begin
check_soon daemon_with_cpus_offline_places placed
for cpu in 4 5; do online $cpu 1; done
check_soon daemon_with_cpus_online_again_places placed
for cpu in 2 3; do online $cpu 0; done
check_soon daemon_with_other_cpus_offline_places placed
kill -KILL $daemon
check_soon daemon_killed_with_cpus_offline as_untouched
for cpu in 2 3; do online $cpu 1; done
check_soon daemon_killed_with_cpus_online_again as_untouched
end
