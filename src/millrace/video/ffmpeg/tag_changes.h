// TagChanges: records pictures whose tags differ from the format of their video.
#pragma once

#include "millrace/video/frame/frame.h"

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::video {

// In words, for the summary of a run: "sample shape from frame 25 on (4:3 after 1:1)". Each kind of change
// appears once.
class TagChanges {
 public:
  // `now` holds the tags of frame `number`, `like` the format assumed for the video.
  void note(std::int64_t number, const FrameFormat& now, const FrameFormat& like);
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }

 private:
  void name(bool& known, std::int64_t number, const char* what, const std::string& now,
            const std::string& before);

  bool shape_ = false;
  bool color_ = false;
  bool range_ = false;
  bool location_ = false;
  bool fields_ = false;
  std::vector<std::string> words_;
};

}  // namespace millrace::video
