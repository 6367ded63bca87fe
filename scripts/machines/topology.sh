# The topology of a machine with offline CPUs: exactly the remaining cores.
# CPUs: 8 16
. /cases/common.sh

# The kernel's view: the CPUs of each core, such as "0-1 2-3 5".
kernel_cores() {
  cat /sys/devices/system/cpu/cpu*/topology/thread_siblings_list 2>/dev/null | sort -un | xargs
}
number_of_cores() {
  kernel_cores | wc -w
}
known_cores() {
  $millrace machine --json >/tmp/machine.json
  awk '/"cores": \[/ {on = 1; next} on && /\]/ {exit} on {gsub(/[",]/, ""); print $1}' /tmp/machine.json | sort -un | xargs
}
known_cores_are_the_kernels() {
  same "$(kernel_cores)" known_cores
}

# Otherwise the emulation lost the siblings, and all cases test another machine than they should.
check machine_has_cores_of_two same $(($(nproc) / 2)) number_of_cores
check all_online known_cores_are_the_kernels
for cpu in 5 1; do
  online $cpu 0
  check "sibling_${cpu}_offline" known_cores_are_the_kernels
done
online 4 0
check core_offline known_cores_are_the_kernels
for cpu in 1 4 5; do online $cpu 1; done
check all_online_again known_cores_are_the_kernels
for cpu in $(seq 1 2 $(($(nproc) - 1))); do online $cpu 0; done
check all_siblings_offline known_cores_are_the_kernels
