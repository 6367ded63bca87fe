// Port: a place further down a stream to which a stage can send items, past the stages between.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace millrace::stream {

// The state shared by the copies of a port.
struct PortPlace {
  std::string name;
  // Index of the stage of `stream` that the port's items enter next, unlanded before Flow::land or
  // Flow::branch.
  int stage = unlanded;
  // Program::identity of the stream that the port is landed in.
  std::shared_ptr<const void> stream = nullptr;

  static constexpr int unlanded = -1;
};

// Makes a bypass or a branch:
//
//   Port<Record> to_writer("to writer");
//   ... .stage<Chunk>(Kind::parallel, "deduplicate", [=](Chunk chunk, Output<Chunk>& out) {
//         if (is_known(chunk)) out.emit(to_writer, Record{...}); else out.emit(std::move(chunk));
//       })
//       .stage(Kind::parallel, "compress", ...)     // Chunk -> Record
//       .land(to_writer)                            // duplicates arrive here, still in order
//       .sink(Kind::serial_in_order, "write", ...)
//
// A handle: copies refer to the same place, so stages capture it by value. It must be landed once, in one
// stream, after the stages that emit into it. Once the stream is built, it is immutable and threads can share
// it.
template <class T> class Port {
 public:
  // `name` is used in messages.
  explicit Port(std::string name) : place_(std::make_shared<PortPlace>(PortPlace{.name = std::move(name)})) {}

 private:
  template <class> friend class Flow;
  template <class> friend class Output;

  std::shared_ptr<PortPlace> place_;
};

}  // namespace millrace::stream
