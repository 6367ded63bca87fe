// Port: a place further down a stream that a stage can send items to, past the stages between.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace millrace::stream {

// Port's place while it is not landed.
inline constexpr int unlanded = -1;

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
  explicit Port(std::string name) : place_(std::make_shared<Place>(Place{std::move(name), unlanded})) {}

 private:
  template <class> friend class Flow;
  template <class> friend class Output;

  struct Place {
    std::string name;
    int stage;  // where items of the port go on; unlanded until Flow::land or Flow::branch
  };
  std::shared_ptr<Place> place_;
};

}  // namespace millrace::stream
