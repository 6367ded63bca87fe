# What `cmake --install` puts below its prefix, which may be moved afterwards. Included behind cmake/libraries.cmake.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/millrace)
set(modules)
set(has_stream FALSE)
if(TARGET millrace_stream_shared)
  set(has_stream TRUE)
  set_target_properties(millrace_stream_shared PROPERTIES EXPORT_NAME stream)
  install(TARGETS millrace_stream_shared EXPORT millrace-targets FILE_SET HEADERS)
  list(APPEND modules millrace-stream)
endif()
if(TARGET millrace_shared)
  set_target_properties(millrace_shared PROPERTIES EXPORT_NAME millrace)
  install(TARGETS millrace_shared EXPORT millrace-targets FILE_SET HEADERS FILE_SET c_interface)
  list(APPEND modules millrace)
endif()
if(TARGET millrace_placement)
  # Policies of one's own for `millrace exec` need one header, which is C.
  add_library(millrace_policies INTERFACE)
  set_target_properties(millrace_policies PROPERTIES EXPORT_NAME placement)
  target_sources(millrace_policies PUBLIC FILE_SET HEADERS
    BASE_DIRS ${PROJECT_SOURCE_DIR}/src/millrace/placement/policy
    FILES ${PROJECT_SOURCE_DIR}/src/millrace/placement/policy/millrace_policy.h)
  install(TARGETS millrace_policies EXPORT millrace-targets FILE_SET HEADERS)
endif()
install(EXPORT millrace-targets NAMESPACE millrace:: DESTINATION ${package_folder})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/millrace-config.cmake.in
  ${PROJECT_BINARY_DIR}/millrace-config.cmake INSTALL_DESTINATION ${package_folder})
# Before 1.0 a new minor version may change anything.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/millrace-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/millrace-config.cmake ${PROJECT_BINARY_DIR}/millrace-config-version.cmake
        DESTINATION ${package_folder})
file(RELATIVE_PATH prefix_from_pkgconfig /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
foreach(module IN LISTS modules)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${module}.pc.in ${PROJECT_BINARY_DIR}/${module}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${module}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# Programs. Those that others start lie apart; the kernel compiler alone needs libHalide.
set(programs)
foreach(program millrace millrace-dedup millrace-similar millrace-skipline)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME)
    list(APPEND programs $<TARGET_FILE:${program}>)
  endif()
endforeach()
foreach(program millrace_verbs millrace_kernel_compiler)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${millrace_private_programs})
  endif()
endforeach()
if(TARGET millrace_kernel_compiler)
  set_target_properties(millrace_kernel_compiler PROPERTIES
    INSTALL_RPATH "$ORIGIN/${private_libraries_from_private_programs}")
  get_property(halide_library GLOBAL PROPERTY millrace_halide_library)
  install(FILES ${halide_library} DESTINATION ${millrace_private_libraries})
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Manual pages and completions, of what the programs say of themselves.
if(programs)
  find_program(MILLRACE_PYTHON python3 REQUIRED)
  list(JOIN programs "\" \"" programs)
  install(CODE "execute_process(COMMAND \"${MILLRACE_PYTHON}\" \"${PROJECT_SOURCE_DIR}/scripts/help_pages\"
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\" \"${programs}\" COMMAND_ERROR_IS_FATAL ANY)")
endif()
