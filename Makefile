# The commands of the README. scripts/setup installs their dependencies once.
JOBS ?= $(shell nproc)
CLIP ?= test:640x480@200
CLIPS ?= ../shared/clips
CMAKE := .venv/bin/cmake
PROGRAM := build/release/src/millrace/cli/millrace
PREFIX ?= /usr/local

.DEFAULT_GOAL := help
.PHONY: help setup configure build install demo test test-sanitized test-python test-gstreamer test-opencv test-machines test-distributions bench-image bench-filters bench-adapt bench-tuning bench-model bench-pool bench-run bench-stream bench-exec bench-units bench-daemon bench-whole bench-batch bench-ablation bench-pages bench-scheduler bench-study attack-exec attack-run attack-batch attack-library soak-cluster bench-cluster soak-daemon kit lint clean

help:
	@echo 'make demo         set up, build, and detect edges in a video: CLIP=path, or a generated one'
	@echo 'make test         set up, build, and run every test, some also under the sanitizers'
	@echo 'make test-sanitized run under the address sanitizer also the tests that make test runs only in the release build'
	@echo 'make test-python  build a wheel of the Python package and test it in its own environment'
	@echo 'make test-gstreamer, test-opencv   test the GStreamer element; test the parallel backend in OpenCV wheels'
	@echo 'make test-machines test topology and placement on other kernels and 1 to 16 CPUs, emulated; root, 15 minutes; MACHINES=options'
	@echo 'make test-distributions build and run the release tests in fresh chroots of Debian 13 and sid; root, 60 minutes; DISTRIBUTIONS=suites'
	@echo 'make build        make the release build, in build/release'
	@echo 'make install      install the programs and libraries to PREFIX (/usr/local), below DESTDIR if given'
	@echo 'make bench-image  compare the structures with OpenCV and Halide autoschedulers; COMPARE=options'
	@echo 'make bench-filters compare single filters with OpenCV and FFmpeg; FILTERS=options'
	@echo 'make bench-adapt  compare the adaptive scheduler with the best static schedule; ADAPT=options'
	@echo 'make bench-tuning compare the optimiser with its alternatives on simulated streams'
	@echo 'make bench-model  compare predictions with the measurements of the pipeline paper, and of dedup and similar on this machine'
	@echo 'make bench-pool   compare fork-join with OpenMP and oneTBB, and frames with the structure of x264; FRAMES=rounds frames threads'
	@echo 'make bench-run    measure the time to the first frame of millrace run, and its memory; RUN=options'
	@echo 'make bench-whole  compare runs from file to file with FFmpeg, and short runs with fixed schedules; WHOLE=options, PARTS=codecs: codec threads'
	@echo 'make bench-batch  compare millrace batch on a folder of clips with xargs and millrace run; BATCH=options'
	@echo 'make bench-ablation compare runs with kernels that load pairs with runs without; ABLATION=options'
	@echo 'make bench-pages  compare runs with and without huge pages; PAGES=options'
	@echo 'make bench-scheduler estimate gains of deciding by parts, stealing across frames, pinned I/O threads, one frame per thread; QUESTIONS=parts idle affinity flight, SCHEDULER=options'
	@echo 'make bench-study  make a page with the figures of the execution structures paper on this machine; STUDY=options, also for studies that run programs'
	@echo 'make bench-stream compare streams with oneTBB and, with TASKFLOW=folder, Taskflow, and dedup with tar | zstd'
	@echo 'make bench-exec   compare millrace exec with the kernel alone, on programs of Debian packages'
	@echo 'make bench-units  measure how well kinds of threads are told apart by their execution units, and the overhead; UNITS=options'
	@echo 'make bench-daemon measure gains and overhead of the daemon: equal threads side by side, programs of Debian packages, probes'
	@echo 'make attack-exec  try to make programs end differently under millrace exec; ATTACK=options'
	@echo 'make attack-run   take resources away from millrace run, dedup and skipline; ATTACK=options'
	@echo 'make attack-batch take resources away from millrace batch, and kill it at any moment; ATTACK=options'
	@echo 'make attack-library  attack the Python package and the C library; after make test-python; ATTACK=options'
	@echo 'make soak-cluster run every preset on every kind of video in chunks; kill 100 workers, and 100 nodes of a live split; SOAK=count; after make test-python also Python workers'
	@echo 'make bench-cluster measure the overhead of chunks, gains of nodes and shared plans, 1000 tiny videos; after make test-python; CLUSTER=options'
	@echo 'make soak-daemon  kill the daemon KILLS times (200) with 20 programs, and check that all threads get their masks back'
	@echo 'make kit          pack what a machine without network needs to measure millrace, in build/kit; run there: build/kit/many_cores OUT'
	@echo 'make lint         run clang-format and clang-tidy'
	@echo 'make clean        remove build/ (keeps what scripts/setup installed)'
	@echo 'JOBS=n            build and test with n jobs (default: one per processor)'

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
	@echo "try next: $(PROGRAM) run 'rotate(6) | crop(0.8)' demo/edges.mkv -o demo/turned.mp4 --explain"

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

# Needs root. The kernels are downloaded once.
test-machines: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace intensity_testing placement_testing machine_test placement_test
	scripts/test_machines $(MACHINES)

# Needs root and debootstrap. Goes on where an interrupted call stopped.
test-distributions:
	JOBS=$(JOBS) scripts/test_distributions $(DISTRIBUTIONS)

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

# FOLDER: a folder with photographs. Without it, millrace-similar is skipped.
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

# Builds all programs of the project that studies run. scripts/setup installs x264, dav1d and ffmpeg.
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

# Estimates gains of deciding by parts, stealing across frames and pinning I/O threads. SCHEDULER: options of the script.
bench-scheduler: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace
	for question in $(or $(QUESTIONS),parts idle affinity flight); do \
	  python3 src/millrace/run/scheduler_bench.py $(PROGRAM) $$question $(SCHEDULER) || exit; done

bench-pages: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace
	python3 src/millrace/run/ablation_bench.py $(PROGRAM) small-pages --clips $(CLIPS) $(PAGES)

# Compares runs of this build with those of a build without paired loads in kernels.
bench-ablation: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace
	@$(CMAKE) --preset release -B build/ablation -DMILLRACE_PAIRED_LOADS=OFF --log-level=WARNING >build/configure.log || { cat build/configure.log >&2; exit 1; }
	@$(CMAKE) --build build/ablation -j $(JOBS) --target millrace
	python3 src/millrace/run/ablation_bench.py $(PROGRAM) build/ablation/src/millrace/cli/millrace --clips $(CLIPS) $(ABLATION)

# FOLDER: photographs for the search. Without it, that part is skipped. TASKFLOW: the folder with taskflow/taskflow.hpp
bench-stream: configure
	@$(CMAKE) --preset release -DMILLRACE_TASKFLOW=$(TASKFLOW) --log-level=WARNING >build/configure.log || { cat build/configure.log >&2; exit 1; }
	@$(CMAKE) --build --preset release -j $(JOBS) --target stream_compare workloads_compare millrace-dedup $(if $(FOLDER),similar_compare)
	build/release/src/millrace/stream/stream_compare
	build/release/src/millrace/stream/workloads_compare
	python3 apps/dedup/compare.py build/release/apps/dedup/millrace-dedup
	$(if $(FOLDER),build/release/apps/similar/similar_compare $(FOLDER) 5)

# CLIPS: a folder with foreman_cif.264 and flower_720p.264. Needs: apt-get install x264 x265 svt-av1 dav1d zstd pigz
bench-exec: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace placement_testing
	python3 src/millrace/placement/exec_bench.py $(PROGRAM) $(CLIPS) $(EXEC)

bench-units: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace intensity_testing
	python3 src/millrace/intensity/kinds_bench.py $(PROGRAM) build/release/src/millrace/intensity/testing/kinds $(UNITS)

# Needs the same clips and packages as bench-exec.
bench-daemon: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace intensity_testing
	python3 src/millrace/placement/daemon_bench.py $(PROGRAM) probe
	python3 src/millrace/placement/daemon_bench.py $(PROGRAM) units --kinds build/release/src/millrace/intensity/testing/kinds
	python3 src/millrace/placement/daemon_bench.py $(PROGRAM) siblings --kinds build/release/src/millrace/intensity/testing/kinds
	python3 src/millrace/placement/daemon_bench.py $(PROGRAM) programs --clips $(CLIPS)

# If run as root, includes attacks that need two users.
attack-exec: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace placement_testing
	python3 src/millrace/placement/exec_attack.py $(PROGRAM) build/release/src/millrace/placement/testing $(ATTACK)

# Kills the daemon KILLS times while 20 programs start and end, and 10000 clients connect.
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

# Uses the package installed by make test-python.
attack-library:
	@test -x build/python/clean/bin/python || { echo 'make test-python comes first' >&2; exit 1; }
	build/python/clean/bin/python python/tests/library_attack.py build/release/lib/libmillrace.so $(ATTACK)

SOAK ?= 100
soak-cluster: configure
	@$(CMAKE) --build --preset release -j $(JOBS) --target millrace
	python3 src/millrace/cli/cluster/cluster_test.py $(PROGRAM) --all
	python3 src/millrace/cli/cluster/cluster_test.py $(PROGRAM) --soak $(SOAK)
	python3 src/millrace/cli/cluster/split_test.py $(PROGRAM) --soak $(SOAK)
	@if test -x build/python/clean/bin/python; then \
	  MILLRACE_SOAK_ROUNDS=$(SOAK) MILLRACE_PROGRAM=$(abspath $(PROGRAM)) build/python/clean/bin/python python/tests/test_cluster.py Driven.test_a_worker_that_is_killed_costs_one_chunk_each_time; \
	else echo 'SKIPPED: workers of python -m millrace.cluster are killed too after make test-python' >&2; fi

# Uses the package installed by make test-python.
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
