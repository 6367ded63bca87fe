// Port: a place further down a stream that a stage can send items to, past the stages between.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace millrace::stream {

// What the copies of a port share.
struct PortPlace {
  std::string name;
  // Where items of the port go on, an index among the stages of `stream`; unlanded until Flow::land or
  // Flow::branch.
  int stage = unlanded;
  // Program::identity of the stream in which it is landed.
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
// A handle: copies mean the same place, so stages capture it by value. Landed once, in one stream, behind the
// stages that emit into it. Immutable and free to share between threads once the stream is built.
template <class T> class Port {
 public:
  // `name` is for messages.
  explicit Port(std::string name) : place_(std::make_shared<PortPlace>(PortPlace{.name = std::move(name)})) {}

 private:
  template <class> friend class Flow;
  template <class> friend class Output;

  std::shared_ptr<PortPlace> place_;
};

}  // namespace millrace::stream
