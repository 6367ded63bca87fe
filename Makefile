# The commands of the README. What they need is installed by scripts/setup, once.
JOBS ?= $(shell nproc)
CLIP ?= test:640x480@200
CLIPS ?= ../shared/clips
CMAKE := .venv/bin/cmake
PROGRAM := build/release/src/millrace/cli/millrace
PREFIX ?= /usr/local

.DEFAULT_GOAL := help
.PHONY: help setup configure build install demo test test-sanitized test-python test-gstreamer test-opencv test-machines bench-image bench-filters bench-adapt bench-tuning bench-model bench-pool bench-run bench-stream bench-exec bench-units bench-daemon bench-whole bench-batch bench-ablation bench-pages bench-scheduler bench-study attack-exec attack-run attack-batch attack-library soak-cluster bench-cluster soak-daemon kit lint clean

help:
	@echo 'make demo         set up, build, find the edges of a video: CLIP=path, or a generated one'
	@echo 'make test         set up, build, run every test, also under the sanitizers'
	@echo 'make test-sanitized under the address sanitizer also what make test runs in the release build alone'
	@echo 'make test-python  a wheel of the Python package, tested in an environment of its own'
	@echo 'make test-gstreamer, test-opencv   the element of GStreamer; the parallel backend in the wheel of OpenCV'
	@echo 'make test-machines topology and placement on other kernels and 1 to 16 CPUs, emulated; as root, 15 minutes; MACHINES=options'
	@echo 'make build        the release build, in build/release'
	@echo 'make install      the programs and libraries to PREFIX (/usr/local), below DESTDIR where that is given'
	@echo 'make bench-image  compare the structures with OpenCV and Halide autoschedulers; COMPARE=options'
	@echo 'make bench-filters compare single filters with OpenCV and FFmpeg; FILTERS=options'
	@echo 'make bench-adapt  compare the adaptive scheduler with the best static schedule; ADAPT=options'
	@echo 'make bench-tuning compare the optimiser with its alternatives on simulated streams'
	@echo 'make bench-model  predictions beside the measurements of the paper on pipelines, and of dedup and similar here'
	@echo 'make bench-pool   compare fork and join with OpenMP and oneTBB, and frames of the structure of x264; FRAMES=rounds frames threads'
	@echo 'make bench-run    how soon millrace run writes its first frame, and its memory; RUN=options'
	@echo 'make bench-whole  whole runs from file to file against FFmpeg, and short ones against fixed schedules; WHOLE=options, PARTS=codecs: numbers of their threads'
	@echo 'make bench-batch  a folder of clips by millrace batch, against xargs with millrace run for each; BATCH=options'
	@echo 'make bench-ablation whole runs with kernels that load pairs against kernels that do not; ABLATION=options'
	@echo 'make bench-pages  whole runs with huge pages against runs without; PAGES=options'
	@echo 'make bench-scheduler what deciding by parts, stealing across frames, binding I/O threads and a frame for each thread could gain; QUESTIONS=parts idle affinity flight, SCHEDULER=options'
	@echo 'make bench-study  the figures of the paper on execution structures on this machine, as a page; STUDY=options, also for studies that run programs'
	@echo 'make bench-stream compare streams with oneTBB and, with TASKFLOW=folder, Taskflow, and dedup with tar | zstd'
	@echo 'make bench-exec   compare millrace exec with the kernel alone, over programs of Debian packages'
	@echo 'make bench-units  how well kinds of threads are told apart by what they use, and what watching costs; UNITS=options'
	@echo 'make bench-daemon what the daemon gains and costs: like threads beside each other, programs of Debian packages, probes'
	@echo 'make attack-exec  try to make programs end differently under millrace exec; ATTACK=options'
	@echo 'make attack-run   take away from millrace run, dedup and skipline what they need; ATTACK=options'
	@echo 'make attack-batch the same for millrace batch, and kill it at any moment; ATTACK=options'
	@echo 'make attack-library  the Python package and the library in C; after make test-python; ATTACK=options'
	@echo 'make soak-cluster every preset of every kind of video in chunks; kill 100 workers in the middle of one, and 100 nodes of a cut; SOAK=so many; after make test-python those of Python too'
	@echo 'make bench-cluster what chunks cost, what more nodes and shared plans gain, a folder of 1000 tiny videos; after make test-python; CLUSTER=options'
	@echo 'make soak-daemon  kill the daemon KILLS times (200) with 20 programs, and see that all threads have what they had'
	@echo 'make kit          what a machine without network needs to measure millrace, in build/kit; there: build/kit/many_cores OUT'
	@echo 'make lint         clang-format and clang-tidy'
	@echo 'make clean        remove build/ (what scripts/setup installed stays)'
	@echo 'JOBS=n            build and test with n jobs instead of one for each processor'

setup:
	@scripts/setup

configure: setup
	@mkdir -p build
	@$(CMAKE) --preset release --log-level=WARNING >build/configure.log || { cat build/configure.log >&2; exit 1; }

build: configure
	@$(CMAKE) --build --preset release -j $(JOBS)

install: build
	@$(CMAKE) --install build/release --prefix $(PREFIX) --strip >build/install.log || { cat build/install.log >&2; exit 1; }
	@echo "installed below $(DESTDIR)$(PREFIX)"

demo: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace
	@mkdir -p demo
	$(PROGRAM) run '@A' '$(CLIP)' -o demo/edges.mkv -y

test: setup
	@JOBS=$(JOBS) scripts/test

test-sanitized: setup
	@JOBS=$(JOBS) scripts/test sanitized

test-python: build
	@scripts/test_python

test-gstreamer: build
	@scripts/setup gstreamer
	@scripts/test_gstreamer

test-opencv: build
	@scripts/test_opencv

# As root. The kernels are fetched once.
test-machines: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace intensity_testing placement_testing machine_test placement_test
	scripts/test_machines $(MACHINES)

bench-image: setup
	@scripts/setup bench
	@mkdir -p build
	@$(CMAKE) --preset release --log-level=WARNING >build/configure.log || { cat build/configure.log >&2; exit 1; }
	@$(CMAKE) --build --preset release -j $(JOBS) --target image_compare
	.venv/bin/python src/millrace/image/compare/compare.py \
	  build/release/src/millrace/image/compare/libimage_compare.so $(COMPARE)

bench-filters: setup
	@scripts/setup bench
	@mkdir -p build
	@$(CMAKE) --preset release --log-level=WARNING >build/configure.log || { cat build/configure.log >&2; exit 1; }
	@$(CMAKE) --build --preset release -j $(JOBS) --target image_compare
	.venv/bin/python src/millrace/image/compare/filters_compare.py \
	  build/release/src/millrace/image/compare/libimage_compare.so $(FILTERS)

bench-adapt: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace
	$(PROGRAM) bench adapt $(ADAPT)

# FOLDER: photographs; without it millrace-similar is left out.
bench-model: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace model_bench auto_compare millrace-dedup $(if $(FOLDER),millrace-similar)
	$(PROGRAM) model --paper
	build/release/src/millrace/model/model_bench
	build/release/src/millrace/stream/auto_compare
	python3 src/millrace/model/prediction/programs_compare.py --keep build/model-runs --millrace $(PROGRAM) --dedup build/release/apps/dedup/millrace-dedup $(if $(FOLDER),--similar build/release/apps/similar/millrace-similar --images $(FOLDER))

bench-tuning: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target tuning_compare
	build/release/src/millrace/tuning/tuning_compare

bench-pool: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target fork_join_compare frame_structure_compare
	build/release/src/millrace/pool/fork_join_compare
	build/release/src/millrace/pool/frame_structure_compare $(FRAMES)

# With all programs of the project that studies run; x264, dav1d and ffmpeg come with setup.
bench-study: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace millrace-similar millrace-dedup millrace-skipline
	$(PROGRAM) study $(or $(STUDY),all -o build/study.html -y)

bench-run: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace
	python3 src/millrace/cli/run/run_bench.py $(PROGRAM) $(RUN)

# CLIPS: a folder with videos.
bench-whole: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace
	for part in $(or $(PARTS),files lengths); do \
	  python3 src/millrace/run/whole_run_bench.py $(PROGRAM) $$part --clips $(CLIPS) $(WHOLE) || exit; done

bench-batch: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace
	python3 src/millrace/run/batch_bench.py $(PROGRAM) $(BATCH)

# What deciding by parts, stealing across frames and binding the I/O threads could gain. SCHEDULER: options of the script.
bench-scheduler: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace
	for question in $(or $(QUESTIONS),parts idle affinity flight); do \
	  python3 src/millrace/run/scheduler_bench.py $(PROGRAM) $$question $(SCHEDULER) || exit; done

bench-pages: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace
	python3 src/millrace/run/ablation_bench.py $(PROGRAM) small-pages --clips $(CLIPS) $(PAGES)

# Whole runs of this build over those of one without the pairs of loads in kernels.
bench-ablation: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace
	@$(CMAKE) --preset release -B build/ablation -DMILLRACE_PAIRED_LOADS=OFF --log-level=WARNING >build/configure.log || { cat build/configure.log >&2; exit 1; }
	@$(CMAKE) --build build/ablation -j $(JOBS) --target millrace
	python3 src/millrace/run/ablation_bench.py $(PROGRAM) build/ablation/src/millrace/cli/millrace --clips $(CLIPS) $(ABLATION)

# FOLDER: photographs for the search; without it that part is left out. TASKFLOW: the folder that has taskflow/taskflow.hpp
bench-stream: configure
	@$(CMAKE) --preset release -DMILLRACE_TASKFLOW=$(TASKFLOW) --log-level=WARNING >build/configure.log || { cat build/configure.log >&2; exit 1; }
	@$(CMAKE) --build --preset release -j $(JOBS) --target stream_compare workloads_compare millrace-dedup $(if $(FOLDER),similar_compare)
	build/release/src/millrace/stream/stream_compare
	build/release/src/millrace/stream/workloads_compare
	python3 apps/dedup/compare.py build/release/apps/dedup/millrace-dedup
	$(if $(FOLDER),build/release/apps/similar/similar_compare $(FOLDER) 5)

# CLIPS: a folder with foreman_cif.264 and flower_720p.264. The programs: apt-get install x264 x265 svt-av1 dav1d zstd pigz
bench-exec: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace placement_testing
	python3 src/millrace/placement/exec_bench.py $(PROGRAM) $(CLIPS) $(EXEC)

bench-units: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace intensity_testing
	python3 src/millrace/intensity/kinds_bench.py $(PROGRAM) build/release/src/millrace/intensity/testing/kinds $(UNITS)

# As bench-exec.
bench-daemon: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace intensity_testing
	python3 src/millrace/placement/daemon_bench.py $(PROGRAM) probe
	python3 src/millrace/placement/daemon_bench.py $(PROGRAM) units --kinds build/release/src/millrace/intensity/testing/kinds
	python3 src/millrace/placement/daemon_bench.py $(PROGRAM) siblings --kinds build/release/src/millrace/intensity/testing/kinds
	python3 src/millrace/placement/daemon_bench.py $(PROGRAM) programs --clips $(CLIPS)

# As root, attacks that need two users are run as well.
attack-exec: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace placement_testing
	python3 src/millrace/placement/exec_attack.py $(PROGRAM) build/release/src/millrace/placement/testing $(ATTACK)

# The daemon is killed KILLS times while 20 programs are born and end, and 10000 clients come.
KILLS ?= 200
soak-daemon: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target placement_test
	MILLRACE_SOAK=$(KILLS) build/release/src/millrace/placement/placement_test --gtest_filter='RunDaemonTest.*'

attack-run: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace millrace-dedup millrace-skipline
	python3 src/millrace/cli/run/run_attack.py $(PROGRAM) build/release/apps/dedup/millrace-dedup \
	  build/release/apps/skipline/millrace-skipline $(ATTACK)

attack-batch: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace
	python3 src/millrace/cli/batch/batch_attack.py $(PROGRAM) $(ATTACK)

# By the package that make test-python has installed.
attack-library:
	@test -x build/python/clean/bin/python || { echo 'make test-python comes first' >&2; exit 1; }
	build/python/clean/bin/python python/tests/library_attack.py build/release/lib/libmillrace.so $(ATTACK)

SOAK ?= 100
soak-cluster: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace
	python3 src/millrace/cli/cluster/cluster_test.py $(PROGRAM) --all
	python3 src/millrace/cli/cluster/cluster_test.py $(PROGRAM) --soak $(SOAK)
	python3 src/millrace/cli/cluster/cut_test.py $(PROGRAM) --soak $(SOAK)
	@if test -x build/python/clean/bin/python; then \
	  MILLRACE_SOAK_ROUNDS=$(SOAK) MILLRACE_PROGRAM=$(abspath $(PROGRAM)) build/python/clean/bin/python python/tests/test_cluster.py Driven.test_a_worker_that_is_killed_costs_one_chunk_each_time; \
	else echo 'SKIPPED: workers of python -m millrace.cluster are killed too after make test-python' >&2; fi

# By the package that make test-python has installed.
bench-cluster:
	@test -x build/python/clean/bin/python || { echo 'make test-python comes first' >&2; exit 1; }
	for what in nodes simulate shared many; do \
	  MILLRACE_PROGRAM=build/python/moved-away/bin/millrace build/python/clean/bin/python python/tests/cluster_bench.py $$what $(CLUSTER) || exit 1; done

# CLIPS: a folder with street_1080p.264.
kit: build
	scripts/kit $(CLIPS)

lint: setup
	@JOBS=$(JOBS) scripts/lint

clean:
	rm -rf build
