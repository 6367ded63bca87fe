// The functions of toml++ that are not in its headers, so that its shared library need not be loaded. Debian
// has no archive of them.
#undef TOML_SHARED_LIB
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>
