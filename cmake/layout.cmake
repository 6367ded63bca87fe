# Folders of an installation, all below one prefix that may be moved as a whole:
#   bin/                 programs for users
#   libexec/millrace/    programs started by those and by libmillrace
#   lib/                 libraries; lib/millrace/: the object that calls FFmpeg, and libHalide, used only by the kernel compiler
# Also makes the headers that hold these folders and the version.
include(GNUInstallDirs)
set(millrace_private_programs ${CMAKE_INSTALL_LIBEXECDIR}/millrace)
set(millrace_private_libraries ${CMAKE_INSTALL_LIBDIR}/millrace)
file(RELATIVE_PATH private_from_programs /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${millrace_private_programs})
file(RELATIVE_PATH private_from_libraries /prefix/${CMAKE_INSTALL_LIBDIR} /prefix/${millrace_private_programs})
file(RELATIVE_PATH private_libraries_from_private_programs
     /prefix/${millrace_private_programs} /prefix/${millrace_private_libraries})
file(RELATIVE_PATH private_libraries_from_programs /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${millrace_private_libraries})
file(RELATIVE_PATH private_libraries_from_libraries /prefix/${CMAKE_INSTALL_LIBDIR} /prefix/${millrace_private_libraries})
set(millrace_generated_headers ${PROJECT_BINARY_DIR}/include)
configure_file(${PROJECT_SOURCE_DIR}/cmake/version.h.in ${millrace_generated_headers}/millrace/version.h @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/cmake/install_layout.h.in
               ${millrace_generated_headers}/millrace/install_layout.h @ONLY)
