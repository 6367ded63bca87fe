# `millrace run --affinity`: every arrangement runs without --threads and gives the same output.
# CPUs: 1 8 16
# Kernel: linux-7
. /cases/common.sh

cd /tmp || exit
run() {
  $millrace run 'blur | sobel_x' test:96x64@10 -o "$1.y4m" --no-profile --affinity "$@" >/tmp/run.log 2>&1 || {
    tr '\r' '\n' </tmp/run.log | tail -1 >/tmp/found
    return 1
  }
}
refused_with_a_reason() {
  ! run "$1" && grep -q "affinity $1: every usable PU lies in the I/O thread's" /tmp/run.log
}
as_free() {
  cmp free.y4m "$1.y4m"
}
check free_runs run free
for arrangement in pinned io-same io-diff module-diff; do
  for structure in '' tiled; do
    rm -f $arrangement.y4m
    # With one core, none is left besides that of the I/O thread.
    if [ "$(nproc)" = 1 ] && [ ${arrangement%-diff} != $arrangement ]; then
      check "${arrangement}_${structure:-adaptive}_is_refused_with_a_reason" refused_with_a_reason $arrangement
      continue
    fi
    check "${arrangement}_${structure:-adaptive}_runs" run $arrangement ${structure:+--structure $structure}
    check "${arrangement}_${structure:-adaptive}_gives_the_same" as_free $arrangement
  done
done
