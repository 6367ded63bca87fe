#include "similar/run/html_page.h"

#include "millrace/base/text/base64.h"
#include "millrace/base/text/escaped_markup.h"

#include <filesystem>
#include <map>
#include <string_view>

#include <fmt/format.h>

namespace millrace::similar {
namespace {

constexpr std::string_view style = R"(
:root { color-scheme: light dark; }
body { font: 14px/1.4 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; margin: 0 0 .2rem; }
.sum, .name, .dist { color: #777; }
section { display: flex; gap: 1.2rem; border-top: 1px solid #8884; padding: 1rem 0; }
figure { margin: 0; width: min-content; }
.found { display: flex; flex-wrap: wrap; gap: .8rem; }
.pic { height: 110px; background-size: cover; border-radius: 4px; }
.asked .pic { height: 150px; }
.none { aspect-ratio: 3/2; border: 1px dashed #8888; }
.name { overflow-wrap: anywhere; font-size: 12px; }
.dist { font-variant-numeric: tabular-nums; }
.bar { height: 3px; background: #4a90d9; border-radius: 2px; margin: 3px 0; }
.error { color: #b33; }
)";

// Writes pictures and records which thumbnails they need.
class Pictures {
 public:
  explicit Pictures(const Thumbnails& thumbnails) : thumbnails_(&thumbnails) {}

  std::string picture(const std::string& path) {
    const std::string name = escaped_markup(std::filesystem::path(path).filename().string());
    std::string html;
    if (const auto found = thumbnails_->find(path); found != thumbnails_->end()) {
      const std::size_t number = numbers_.try_emplace(found, numbers_.size()).first->second;
      html = fmt::format(R"(<div class="pic t{}" role="img" aria-label="{}"></div>)", number, name);
    } else {
      html = R"(<div class="pic none"></div>)";
    }
    return html + fmt::format(R"(<div class="name" title="{}">{}</div>)", escaped_markup(path), name);
  }

  // CSS rules that assign thumbnails to pictures.
  [[nodiscard]] std::string rules() const {
    std::string css;
    for (const auto& [thumbnail, number] : numbers_) {
      const Thumbnail& t = thumbnail->second;
      css +=
          fmt::format(".t{} {{ aspect-ratio: {}/{}; background-image: url(data:image/jpeg;base64,{}); }}\n",
                      number, t.width, t.height, base64(t.jpeg));
    }
    return css;
  }

 private:
  struct ByPath {
    bool operator()(Thumbnails::const_iterator a, Thumbnails::const_iterator b) const {
      return a->first < b->first;
    }
  };
  const Thumbnails* thumbnails_;
  std::map<Thumbnails::const_iterator, std::size_t, ByPath> numbers_;
};

std::string section(const QueryAnswer& answer, const ImageIndex& index, Pictures& pictures) {
  std::string html = fmt::format("<section>\n<figure class=\"asked\">{}</figure>\n<div class=\"found\">\n",
                                 pictures.picture(answer.path));
  if (!answer.answers) {
    html += fmt::format("<p class=\"error\">{}</p>\n", escaped_markup(answer.answers.error().message));
  } else {
    for (const Answer& one : *answer.answers) {
      // 100 for the same image, towards 0 for unrelated ones.
      const double likeness = 100 / (1 + one.distance);
      html += fmt::format("<figure>{}<div class=\"bar\" style=\"width:{:.0f}%\"></div>"
                          "<div class=\"dist\">{:.3f}</div></figure>\n",
                          pictures.picture(index.path(one.image)), likeness, one.distance);
    }
  }
  return html + "</div>\n</section>\n";
}

}  // namespace

std::string html_page(std::span<const QueryAnswer> answers, const ImageIndex& index,
                      const Thumbnails& thumbnails) {
  Pictures pictures(thumbnails);
  std::string sections;
  for (const QueryAnswer& answer : answers)
    sections += section(answer, index, pictures);
  return fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<title>Similar images</title>\n<style>{}{}</style>\n</head>\n<body>\n"
                     "<h1>Similar images</h1>\n"
                     "<p class=\"sum\">{} asked about, {} indexed in {}. The number below an image is its "
                     "distance: 0 is the same picture.</p>\n{}</body>\n</html>\n",
                     style, pictures.rules(), answers.size(), index.images().size(),
                     escaped_markup(index.folder()), sections);
}

}  // namespace millrace::similar
