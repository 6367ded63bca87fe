# `millrace exec --attach`: after it detaches, a program may use the same CPUs as one that was never attached to.
# CPUs: 8 16
. /cases/common.sh

last=$(($(nproc) - 1))
all=0-$last

# begin POLICY: starts two equal programs in the cpuset and attaches exec to one.
begin() {
  (in_cpuset $kinds 3600 sleep sleep sleep sleep) & program=$!
  (in_cpuset $kinds 3600 sleep sleep sleep sleep) & untouched=$!
  within $patience threads_of $program 5 && within $patience threads_of $untouched 5
  $millrace exec --policy "$1" --attach $program >/tmp/attach.log 2>&1 & exec=$!
}
# Checks that threads are placed: some mask differs from those of the untouched program.
placed() {
  [ "$(all_masks $program)" != "$(all_masks $untouched)" ]
}
# Lets exec see the change. The result must be the same if that takes longer.
be_seen() {
  sleep 2
}
as_untouched() {
  same "$(all_masks $untouched)" all_masks $program
}
# detach NAME: detaches and checks that no thread was taken to look after its own mask.
detach() {
  kill -TERM $exec
  wait $exec
  echo "  exec ended with code $?; threads have: $(all_masks $program)"
  cat /tmp/attach.log
  check "$1" none_left_alone /tmp/attach.log
}
end() {
  kill -KILL $program $untouched
  wait $program $untouched 2>/dev/null
}

cpuset 0-3
begin one-to-one
check_soon small_cpuset_placed placed
detach small_cpuset_leaves_none_alone
check_soon small_cpuset_detached as_untouched
cpuset $all
check_soon small_cpuset_detached_and_grown as_untouched
end

begin one-to-one
check_soon cpuset_to_shrink_placed placed
cpuset 2-$last
be_seen
detach cpuset_to_shrink_leaves_none_alone
check_soon shrunk_while_attached_detached as_untouched
cpuset $all
check_soon shrunk_while_attached_detached_and_grown as_untouched
end

cpuset 0-3
begin one-to-one
check_soon cpuset_to_grow_placed placed
cpuset $all
be_seen
detach cpuset_to_grow_leaves_none_alone
check_soon grown_while_attached_detached as_untouched
end

online 5 0
begin one-to-one
check_soon cpu_offline_placed placed
detach cpu_offline_leaves_none_alone
# The kernel grants no CPU that is offline, though the mask of an untouched thread may name it. Neither program runs
# there.
online 5 1
check_soon cpu_offline_detached_and_online as_untouched
end

begin spread
check_soon cpu_to_go_placed placed
online 5 0
be_seen
detach cpu_to_go_leaves_none_alone
check_soon cpu_gone_while_attached_detached as_untouched
online 5 1
check_soon cpu_gone_while_attached_detached_and_online as_untouched
end
