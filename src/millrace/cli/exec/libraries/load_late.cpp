// The functions of hwloc and Zydis that `millrace exec` calls. The first call loads the library. Short
// programs end before anything calls them.
//
// If a library is missing, its functions fail: no topology can be read, and no instruction can be decoded. A
// function that is missing here makes the linker name it or link the library as usual.
#include <cerrno>
#include <dlfcn.h>
#include <hwloc.h>

#include <Zydis/Zydis.h>

namespace {

// Null if the library cannot be loaded or lacks the function.
template <class Function> Function* find_function(void* library, const char* name) {
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

// Libraries stay loaded until the process ends.
void* hwloc_library() {
  static void* const library = dlopen(MILLRACE_HWLOC, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) errno = ELIBACC;
  return library;
}

void* zydis_library() {
  static void* const library = dlopen(MILLRACE_ZYDIS, RTLD_LAZY | RTLD_LOCAL);
  return library;
}

}  // namespace

// Defines a function that passes its arguments on, and returns `failed` if it cannot be loaded.
#define MILLRACE_LATE(library, result, name, parameters, arguments, failed)                                  \
  result name parameters {                                                                                   \
    static auto* const function = find_function<decltype(name)>(library##_library(), #name);                 \
    return function == nullptr ? failed : function arguments;                                                \
  }

extern "C" {
MILLRACE_LATE(hwloc, int, hwloc_topology_init, (hwloc_topology_t * made), (made), -1)
MILLRACE_LATE(hwloc, void, hwloc_topology_destroy, (hwloc_topology_t topology), (topology), void())
MILLRACE_LATE(hwloc, int, hwloc_topology_load, (hwloc_topology_t topology), (topology), -1)
MILLRACE_LATE(hwloc, int, hwloc_topology_restrict,
              (hwloc_topology_t topology, hwloc_const_bitmap_t kept, unsigned long flags),
              (topology, kept, flags), -1)
MILLRACE_LATE(hwloc, int, hwloc_topology_set_flags, (hwloc_topology_t topology, unsigned long flags),
              (topology, flags), -1)
MILLRACE_LATE(hwloc, int, hwloc_topology_set_icache_types_filter,
              (hwloc_topology_t topology, hwloc_type_filter_e filter), (topology, filter), -1)
MILLRACE_LATE(hwloc, int, hwloc_topology_set_synthetic, (hwloc_topology_t topology, const char* description),
              (topology, description), -1)
MILLRACE_LATE(hwloc, int, hwloc_topology_set_xml, (hwloc_topology_t topology, const char* path),
              (topology, path), -1)
MILLRACE_LATE(hwloc, int, hwloc_topology_is_thissystem, (hwloc_topology_t topology), (topology), 0)
MILLRACE_LATE(hwloc, int, hwloc_topology_get_depth, (hwloc_topology_t topology), (topology), 0)
MILLRACE_LATE(hwloc, int, hwloc_get_type_depth, (hwloc_topology_t topology, hwloc_obj_type_t type),
              (topology, type), HWLOC_TYPE_DEPTH_UNKNOWN)
MILLRACE_LATE(hwloc, hwloc_obj_type_t, hwloc_get_depth_type, (hwloc_topology_t topology, int depth),
              (topology, depth), HWLOC_OBJ_TYPE_MAX)
MILLRACE_LATE(hwloc, hwloc_obj_t, hwloc_get_obj_by_depth,
              (hwloc_topology_t topology, int depth, unsigned index), (topology, depth, index), nullptr)
MILLRACE_LATE(hwloc, hwloc_const_cpuset_t, hwloc_topology_get_topology_cpuset, (hwloc_topology_t topology),
              (topology), nullptr)
MILLRACE_LATE(hwloc, int, hwloc_cpukinds_get_nr, (hwloc_topology_t topology, unsigned long flags),
              (topology, flags), -1)
MILLRACE_LATE(hwloc, int, hwloc_cpukinds_get_info,
              (hwloc_topology_t topology, unsigned kind, hwloc_bitmap_t cpus, int* efficiency,
               unsigned* count, hwloc_info_s** infos, unsigned long flags),
              (topology, kind, cpus, efficiency, count, infos, flags), -1)
MILLRACE_LATE(hwloc, hwloc_bitmap_t, hwloc_bitmap_alloc, (), (), nullptr)
MILLRACE_LATE(hwloc, void, hwloc_bitmap_free, (hwloc_bitmap_t bitmap), (bitmap), void())
MILLRACE_LATE(hwloc, int, hwloc_bitmap_set, (hwloc_bitmap_t bitmap, unsigned bit), (bitmap, bit), -1)
MILLRACE_LATE(hwloc, int, hwloc_bitmap_first, (hwloc_const_bitmap_t bitmap), (bitmap), -1)
MILLRACE_LATE(hwloc, int, hwloc_bitmap_next, (hwloc_const_bitmap_t bitmap, int bit), (bitmap, bit), -1)

MILLRACE_LATE(zydis, ZyanStatus, ZydisDecoderInit,
              (ZydisDecoder * decoder, ZydisMachineMode mode, ZydisStackWidth width), (decoder, mode, width),
              ZYAN_STATUS_FAILED)
MILLRACE_LATE(zydis, ZyanStatus, ZydisDecoderDecodeFull,
              (const ZydisDecoder* decoder, const void* code, ZyanUSize size,
               ZydisDecodedInstruction* instruction, ZydisDecodedOperand* operands),
              (decoder, code, size, instruction, operands), ZYAN_STATUS_FAILED)
MILLRACE_LATE(zydis, ZyanStatus, ZydisCalcAbsoluteAddress,
              (const ZydisDecodedInstruction* instruction, const ZydisDecodedOperand* operand,
               ZyanU64 address, ZyanU64* result),
              (instruction, operand, address, result), ZYAN_STATUS_FAILED)
MILLRACE_LATE(zydis, ZydisRegisterClass, ZydisRegisterGetClass, (ZydisRegister name), (name),
              ZYDIS_REGCLASS_INVALID)
MILLRACE_LATE(zydis, ZyanI8, ZydisRegisterGetId, (ZydisRegister name), (name), -1)
MILLRACE_LATE(zydis, ZydisRegister, ZydisRegisterGetLargestEnclosing,
              (ZydisMachineMode mode, ZydisRegister name), (mode, name), ZYDIS_REGISTER_NONE)
MILLRACE_LATE(zydis, ZydisRegisterWidth, ZydisRegisterGetWidth, (ZydisMachineMode mode, ZydisRegister name),
              (mode, name), 0)
}

#undef MILLRACE_LATE
