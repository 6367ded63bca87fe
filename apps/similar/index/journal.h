// Journal: what an index run has finished so far, so that a run that was interrupted need not begin anew.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"
#include "similar/index/image_index.h"

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::similar {

// A file of records beside the index, "<index>.journal". Each image is appended in one write as soon as its
// features are known, so a kill loses at most the images under way; a record that was cut short by it is
// dropped by the next run. Open, it also is the lock that keeps two runs off the same index. Used by one
// thread at a time.
class Journal {
 public:
  // Opens the journal of the index at `index_path` or makes one. images(): what it held; nothing if it was
  // made for another folder or by other features. Failure that names it, also when another run has it.
  [[nodiscard]] static Result<Journal> open(const std::string& index_path, const std::string& folder);

  // Taken from the file by open(); the caller's to keep.
  [[nodiscard]] std::vector<IndexedImage> take_images() { return std::move(images_); }

  // Failure that names the journal when it cannot be written.
  [[nodiscard]] Status append(const IndexedImage& image);

  // Takes it away: the index is complete.
  void remove();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  Journal(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  // Reads what is sound, drops the rest and leaves the file ready to be appended to.
  [[nodiscard]] Status recover(const std::string& folder);

  std::string path_;
  Descriptor file_;
  std::uint64_t offset_ = 0;  // where the next record goes
  std::vector<IndexedImage> images_;
};

}  // namespace millrace::similar
