# millrace_links_few_libraries(target)
#
# Links `millrace exec` so that it starts with no shared libraries but libc and libm, because loading them took a third
# of the CPU time of `millrace exec true`. It links archives where the system has all of them, contains toml++ and {fmt},
# and loads hwloc and Zydis at their first call. Without the archives, and under sanitizers, all libraries stay shared.
function(millrace_links_few_libraries target)
  # Drops libraries that nothing needs, such as those that archives replace.
  target_link_options(${target} PRIVATE -Wl,--as-needed)
  set(names sqlite3 ${XXHASH_STATIC_LIBRARIES} ${NETTLE_STATIC_LIBRARIES} ${RE2_STATIC_LIBRARIES})
  list(REMOVE_DUPLICATES names)
  list(FILTER names EXCLUDE REGEX "^(pthread|m|dl|rt|stdc\\+\\+)$")
  set(archives)
  foreach(name IN LISTS names)
    find_library(millrace_archive_${name} lib${name}.a)
    mark_as_advanced(millrace_archive_${name})
    list(APPEND archives ${millrace_archive_${name}})
  endforeach()
  find_library(millrace_hwloc hwloc)
  find_library(millrace_zydis Zydis)
  mark_as_advanced(millrace_hwloc millrace_zydis)
  millrace_soname(hwloc "${millrace_hwloc}")
  millrace_soname(zydis "${millrace_zydis}")
  if(MILLRACE_SANITIZE OR archives MATCHES NOTFOUND OR NOT hwloc OR NOT zydis)
    return()
  endif()
  set(folder ${CMAKE_CURRENT_SOURCE_DIR}/exec/libraries)
  set(sources ${folder}/load_late.cpp ${folder}/fmt_functions.cpp ${folder}/toml_functions.cpp)
  target_sources(${target} PRIVATE ${sources})
  # They choose by macros what a library's headers contain.
  set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_source_files_properties(${folder}/load_late.cpp PROPERTIES
    COMPILE_DEFINITIONS "MILLRACE_HWLOC=\"${hwloc}\";MILLRACE_ZYDIS=\"${zydis}\"")
  # The modules that call the archives follow them on the command line, so link whole archives and drop unused parts.
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections)
  target_link_libraries(${target} PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,${archives}>" ${CMAKE_DL_LIBS})
endfunction()

# Sets `result` to the name by which programs load a shared library; empty if that is unknown.
function(millrace_soname result library)
  set(found "")
  if(EXISTS "${library}" AND CMAKE_OBJDUMP)
    execute_process(COMMAND ${CMAKE_OBJDUMP} -p "${library}" OUTPUT_VARIABLE header ERROR_QUIET)
    if(header MATCHES "SONAME +([^ \n]+)")
      set(found ${CMAKE_MATCH_1})
    endif()
  endif()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()
