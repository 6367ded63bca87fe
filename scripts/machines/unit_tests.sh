# The unit tests that ask the kernel about CPUs and masks.
# CPUs: 1 8 16
. /cases/common.sh

gtest machine/machine_test '*Live*:*CpusOffline*:*Affinity*:MachineReport*'
gtest placement/placement_test '*Cpuset*:*CoresOfTheirOwn*:*ThreadsThatOutnumber*:*ConfinedOtherwise*:*LeavesAloneInAGroup*:*KnowsAControlGroup*:-MaskChanges.*'
