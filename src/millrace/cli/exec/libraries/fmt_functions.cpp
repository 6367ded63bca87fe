// The functions of {fmt} that are not in its headers, so that its shared library need not be loaded. Debian
// has no archive of them.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template FMT_API dragonbox::decimal_fp<float> dragonbox::to_decimal(float value) noexcept;
template FMT_API dragonbox::decimal_fp<double> dragonbox::to_decimal(double value) noexcept;
template FMT_API thousands_sep_result<char> thousands_sep_impl(locale_ref locale);
template FMT_API char decimal_point_impl(locale_ref locale);
template FMT_API void buffer<char>::append(const char* begin, const char* end);
#if FMT_VERSION >= 100000
template FMT_API void vformat_to(buffer<char>& text, string_view format,
                                 typename vformat_args<>::type arguments, locale_ref locale);
#endif
}  // namespace detail
FMT_END_NAMESPACE
