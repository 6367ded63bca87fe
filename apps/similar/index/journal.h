// Journal: the finished images of an index run, so that an interrupted run can be resumed.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"
#include "similar/index/image_index.h"

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::similar {

// A file of records next to the index, "<index>.journal". Each image is appended in one write as soon as its
// features are known, so a killed run loses only the images in progress. The next run drops a truncated
// record. While open, the journal also locks the index against other runs. Used by one thread at a time.
class Journal {
 public:
  // Opens or creates the journal of the index at `index_path`. images(): its content; nothing if the journal
  // belongs to another folder or other features. A failure names the journal, also if another run holds it.
  // A usage error names anything else of that name, which stays as it is: another file, a link, a file of
  // another user.
  [[nodiscard]] static Result<Journal> open(const std::string& index_path, const std::string& folder);

  // The images that open() read. Moves them to the caller.
  [[nodiscard]] std::vector<IndexedImage> take_images() { return std::move(images_); }

  // A failure names the journal if it cannot be written.
  [[nodiscard]] Status append(const IndexedImage& image);

  // Deletes the journal once the index is complete. Leaves a file that has replaced it.
  void remove();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  Journal(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  // Reads the intact records, drops the rest, and prepares the file for appending.
  [[nodiscard]] Status recover(const std::string& folder);

  [[nodiscard]] bool has_its_name() const;

  std::string path_;
  Descriptor file_;
  std::uint64_t offset_ = 0;  // position of the next record
  std::vector<IndexedImage> images_;
};

}  // namespace millrace::similar
