# The shared libraries. They are made of the same objects as the modules' static libraries, which the programs here link.
# They export only symbols marked MILLRACE_EXPORT. Include this after all modules.

# millrace_shared_library(target name exports)
function(millrace_shared_library target name exports)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE CXX
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/${exports})
  target_link_options(${target} PRIVATE -Wl,-z,defs -Wl,--build-id
                      -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/${exports})
endfunction()

# Streams of items, the pool they run on, the machine and the models. Needs neither FFmpeg nor Halide.
if(TARGET millrace_stream)
  set(objects)
  foreach(module base machine model pool stream)
    list(APPEND objects $<TARGET_OBJECTS:millrace_${module}>)
  endforeach()
  add_library(millrace_stream_shared SHARED ${objects})
  add_library(millrace::stream ALIAS millrace_stream_shared)
  millrace_shared_library(millrace_stream_shared millrace_stream exports.map)
  target_compile_features(millrace_stream_shared INTERFACE cxx_std_23)
  # Link the static library only for its dependencies. All of its objects are already included.
  target_link_libraries(millrace_stream_shared PUBLIC fmt::fmt Threads::Threads PRIVATE millrace_stream)
  set(public_headers
    base/error/export.h base/error/result.h base/error/without_exceptions.h base/numbers/histogram.h
    machine/cpus/cpu_set.h machine/limits/cgroup_limits.h machine/limits/usable_cpus.h
    machine/processor/demand.h machine/thread/thread_affinity.h machine/units/counter_formula.h
    machine/units/sharing_domains.h machine/units/unit_traits.h
    machine/topology/topology.h machine/topology/topology_trust.h
    model/pipeline/pipeline.h model/pipeline/pipeline_text.h model/pipeline/plan.h model/pipeline/random.h
    model/pipeline/service_time.h model/prediction/ordered_tail.h model/prediction/prediction.h
    pool/for_range.h pool/fresh_threads.h pool/function_ref.h pool/mailbox.h pool/serial_team.h pool/shared_workers.h
    pool/team.h pool/team_failure.h pool/wake_elsewhere.h pool/worker_pool.h
    stream/flow.h stream/flow_draft.h stream/inlet.h stream/stream.h
    stream/item/item_type.h stream/item/out_of_memory.h stream/item/port.h stream/item/token.h
    stream/item/output_window.h stream/item/token_list.h stream/item/token_store.h
    stream/program/continuation.h stream/program/emission.h stream/program/output.h stream/program/program.h
    stream/program/state_pool.h stream/program/wait.h stream/program/waiting.h
    stream/run/live_report.h stream/run/run_options.h stream/run/run_report.h stream/run/stage_options.h)
  list(TRANSFORM public_headers PREPEND ${PROJECT_SOURCE_DIR}/src/millrace/)
  target_sources(millrace_stream_shared PUBLIC FILE_SET HEADERS
    BASE_DIRS ${PROJECT_SOURCE_DIR}/src ${millrace_generated_headers}
    FILES ${public_headers} ${millrace_generated_headers}/millrace/version.h)
endif()

# Pipelines over video and over the caller's frames, through the C interface only. It contains its own hidden copy of the
# modules that both libraries use, so either library works without the other.
if(TARGET millrace_api)
  add_library(millrace_shared SHARED $<TARGET_OBJECTS:millrace_api>)
  add_library(millrace::millrace ALIAS millrace_shared)
  millrace_shared_library(millrace_shared millrace exports_c.map)
  target_link_libraries(millrace_shared PRIVATE millrace_api)
  if(TARGET millrace_kernel_compiler)
    add_dependencies(millrace_shared millrace_kernel_compiler)
  endif()
  target_sources(millrace_shared PUBLIC FILE_SET HEADERS
    BASE_DIRS ${PROJECT_SOURCE_DIR}/src ${millrace_generated_headers}
    FILES ${PROJECT_SOURCE_DIR}/src/millrace/base/error/export.h ${millrace_generated_headers}/millrace/version.h)
  target_sources(millrace_shared PUBLIC FILE_SET c_interface TYPE HEADERS
    BASE_DIRS ${PROJECT_SOURCE_DIR}/src/millrace/api FILES ${PROJECT_SOURCE_DIR}/src/millrace/api/millrace.h)
endif()

# Placement from inside a program, in C, for programs that place their own threads.
if(TARGET millrace_dispatch)
  add_library(millrace_dispatch_shared SHARED $<TARGET_OBJECTS:millrace_dispatch>)
  add_library(millrace::dispatch ALIAS millrace_dispatch_shared)
  set_target_properties(millrace_dispatch_shared PROPERTIES
    OUTPUT_NAME millrace_dispatch VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE C
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  target_link_options(millrace_dispatch_shared PRIVATE -Wl,-z,defs -Wl,--build-id)
  target_link_libraries(millrace_dispatch_shared PRIVATE Threads::Threads)
  target_sources(millrace_dispatch_shared PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/src/millrace/dispatch
    FILES ${PROJECT_SOURCE_DIR}/src/millrace/dispatch/millrace_dispatch.h
          ${PROJECT_SOURCE_DIR}/src/millrace/dispatch/UDispatch.h)
endif()
