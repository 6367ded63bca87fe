# millrace_module(name [COMPUTES] [SUBFOLDERS folder...] [PROGRAM_SUBFOLDERS folder...] [OBJECTS_OF folder...]
#               [RACE_TESTS file...] [DEPENDS target...] [TEST_DEPENDS target...] [BENCH_DEPENDS target...])
#
# Declares the module in the current folder and its subfolders (SUBFOLDERS). File names decide what is built:
#   *_test.cpp   -> one test program <name>_test. Its cases are divided among MILLRACE_TEST_SHARDS processes.
#                   Under the thread sanitizer only RACE_TESTS are built, if any are named
#   *_bench.cpp  -> one Google Benchmark program <name>_bench
#   *_fuzz.cpp   -> one libFuzzer program each (MILLRACE_FUZZERS), run for a bounded time as a test
#   other *.cpp  -> the library millrace_<name>
#   *.cpp of PROGRAM_SUBFOLDERS, which are above the other subfolders -> <name>_<subfolder>_sources, for programs of the module
# OBJECTS_OF: subfolders whose objects are also the object library millrace_<name>_objects, for a shared object that
# contains only these.
# COMPUTES: optimise the module even in tests and under sanitizers, because its work outweighs the compile time.
function(millrace_module name)
  cmake_parse_arguments(MODULE "COMPUTES" "" "SUBFOLDERS;PROGRAM_SUBFOLDERS;OBJECTS_OF;RACE_TESTS;DEPENDS;TEST_DEPENDS;BENCH_DEPENDS" ${ARGN})
  set(patterns *.cpp)
  foreach(subfolder IN LISTS MODULE_SUBFOLDERS)
    list(APPEND patterns ${subfolder}/*.cpp)
  endforeach()
  file(GLOB all CONFIGURE_DEPENDS ${patterns})
  foreach(subfolder IN LISTS MODULE_PROGRAM_SUBFOLDERS)
    file(GLOB program_sources CONFIGURE_DEPENDS ${subfolder}/*.cpp)
    set(${name}_${subfolder}_sources ${program_sources} PARENT_SCOPE)
  endforeach()
  set(tests ${all})
  set(benches ${all})
  set(fuzzers ${all})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  if(MODULE_RACE_TESTS AND MILLRACE_SANITIZE STREQUAL "thread")
    set(tests ${MODULE_RACE_TESTS})
  endif()
  list(FILTER benches INCLUDE REGEX "_bench\\.cpp$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cpp$")
  set(sources ${all})
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|_fuzz|main)\\.cpp$")

  set(libraries millrace_${name})
  set(objects)
  if(MODULE_OBJECTS_OF)
    list(JOIN MODULE_OBJECTS_OF "|" folders)
    set(shared ${sources})
    list(FILTER shared INCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/(${folders})/")
    list(REMOVE_ITEM sources ${shared})
    add_library(millrace_${name}_objects OBJECT ${shared})
    list(APPEND libraries millrace_${name}_objects)
    set(objects $<TARGET_OBJECTS:millrace_${name}_objects>)
  endif()
  if(sources)
    add_library(millrace_${name} STATIC ${sources} ${objects})
    foreach(library IN LISTS libraries)
      target_include_directories(${library} PUBLIC ${PROJECT_SOURCE_DIR}/src ${millrace_generated_headers})
      # The shared libraries made of the same objects export only marked symbols (cmake/libraries.cmake).
      set_target_properties(${library} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
      target_link_libraries(${library} PUBLIC ${MODULE_DEPENDS} fmt::fmt nlohmann_json::nlohmann_json Threads::Threads)
    endforeach()
  else()
    add_library(millrace_${name} INTERFACE)
    target_include_directories(millrace_${name} INTERFACE ${PROJECT_SOURCE_DIR}/src ${millrace_generated_headers})
    target_link_libraries(millrace_${name} INTERFACE ${MODULE_DEPENDS} fmt::fmt nlohmann_json::nlohmann_json Threads::Threads)
  endif()

  if(MILLRACE_SANITIZE AND MODULE_COMPUTES)
    target_compile_options(millrace_${name} PRIVATE -O1)
  endif()
  if(MILLRACE_FUZZERS AND fuzzers AND sources)
    # The fuzzer follows the coverage of the code it calls, so the module must report coverage.
    foreach(library IN LISTS libraries)
      target_compile_options(${library} PRIVATE -fsanitize=fuzzer-no-link)
      target_link_options(${library} PUBLIC -fsanitize=fuzzer-no-link)
    endforeach()
  endif()

  if(MILLRACE_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE millrace_${name} ${MODULE_TEST_DEPENDS} GTest::gmock GTest::gtest_main)
    target_compile_definitions(${name}_test PRIVATE MILLRACE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    # Most tests gain little from optimisation, and compiling takes most of the time of a test run.
    set(optimisation -O0)
    if(MODULE_COMPUTES AND NOT MILLRACE_SANITIZE)
      set(optimisation -O1)
    endif()
    target_compile_options(${name}_test PRIVATE $<$<NOT:$<CONFIG:Debug>>:${optimisation}>)
    if(MILLRACE_SANITIZE MATCHES "undefined")
      # These checks cost a quarter of a test's compile time. An error that they would find in a test ends the test
      # anyway.
      target_compile_options(${name}_test PRIVATE
        -fno-sanitize=null,alignment,vptr,object-size,pointer-overflow,return)
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # GCC warns if only one of a pair of replaced operators is inlined. At -O1, GCC 12 also assumes that the content of
      # an empty optional is used.
      target_compile_options(${name}_test PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-mismatched-new-delete> -Wno-psabi -Wno-maybe-uninitialized)
    endif()
    # Run many tests per process, because starting a program takes longer than most tests.
    foreach(shard RANGE 1 ${MILLRACE_TEST_SHARDS})
      math(EXPR index "${shard} - 1")
      add_test(NAME ${name}.${shard} COMMAND ${name}_test --gtest_brief=1)
      set_tests_properties(${name}.${shard} PROPERTIES LABELS ${name} TIMEOUT 1200
        ENVIRONMENT "GTEST_TOTAL_SHARDS=${MILLRACE_TEST_SHARDS};GTEST_SHARD_INDEX=${index};GTEST_OUTPUT=xml:${PROJECT_BINARY_DIR}/reports/${name}.${shard}.xml")
    endforeach()
  endif()
  if(MILLRACE_BENCHES AND benches)
    add_executable(${name}_bench ${benches})
    set_target_properties(${name}_bench PROPERTIES UNITY_BUILD OFF)
    target_link_libraries(${name}_bench PRIVATE millrace_${name} ${MODULE_BENCH_DEPENDS} benchmark::benchmark_main)
    millrace_benchmark(${name}_bench)
  endif()
  if(MILLRACE_FUZZERS)
    foreach(source IN LISTS fuzzers)
      get_filename_component(fuzzer ${source} NAME_WE)
      add_executable(${fuzzer} ${source})
      add_dependencies(fuzzers ${fuzzer})
      target_compile_options(${fuzzer} PRIVATE -fsanitize=fuzzer)
      target_link_options(${fuzzer} PRIVATE -fsanitize=fuzzer)
      target_link_libraries(${fuzzer} PRIVATE millrace_${name})
      add_test(NAME ${fuzzer} COMMAND ${fuzzer} -max_total_time=${MILLRACE_FUZZ_SECONDS} -timeout=10 -rss_limit_mb=2048 -print_final_stats=1)
      set_tests_properties(${fuzzer} PROPERTIES LABELS fuzz TIMEOUT 120)
    endforeach()
  endif()
endfunction()

# millrace_program_test(module name script argument...)
#
# Adds the test <module>.<name>, a Python script that runs programs. MILLRACE_SANITIZED is set in its environment if the
# programs are sanitized.
function(millrace_program_test module name script)
  find_program(MILLRACE_PYTHON python3 REQUIRED)  # find_package(Python3) takes a second on each call
  add_test(NAME ${module}.${name} COMMAND ${MILLRACE_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${ARGN})
  set_tests_properties(${module}.${name} PROPERTIES LABELS ${module} TIMEOUT 600 COST 100)  # long tests start first
  if(MILLRACE_SANITIZE)
    set_tests_properties(${module}.${name} PROPERTIES ENVIRONMENT MILLRACE_SANITIZED=1)
  endif()
endfunction()

# millrace_benchmark(target)
#
# A program or library that measures. It is built only on request, by name or with the target `benchmarks`. scripts/lint
# checks with clang-tidy that it compiles.
function(millrace_benchmark target)
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_dependencies(benchmarks ${target})
endfunction()

# millrace_reads_options(target)
#
# A target that parses options and prints, and does no heavy work. The option parser is slow to compile.
function(millrace_reads_options target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1> $<$<CONFIG:RelWithDebInfo>:-O0>)
endfunction()
