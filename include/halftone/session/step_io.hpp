#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <halftone/base/array.hpp>

namespace halftone {

class Session;

/// Elements that may be written, of any type, that belong to somebody else.
struct AnyBuffer {
  TensorInfo info;
  void* data = nullptr;
};

/// Where a run gets its inputs from and where it puts what it returns: one micro-batch at a time.
///
/// For each micro-batch the session asks `in` for each input, copies the elements and calls
/// `in_complete`; it asks `out` for memory for each tensor returned of this micro-batch, fills it
/// and calls `out_complete`. A session that prefetches asks for the next micro-batches early, with
/// `prefetch` set, and accepts that there is none yet (null data).
class StepIo {
 public:
  virtual ~StepIo() = default;
  /// `elements` elements, of the tensor's type or int32 for int64 and the other way round.
  virtual AnyView in(std::string_view name, std::int64_t elements, bool prefetch) = 0;
  virtual void in_complete(std::string_view name, std::int64_t elements) = 0;
  virtual AnyBuffer out(std::string_view name, std::int64_t elements) = 0;
  virtual void out_complete(std::string_view name) = 0;
  /// Called before a session's first run: throws what is wrong with the sizes of the buffers.
  virtual void check(const Session& session) const = 0;
  /// Whether what `in` gives stays as it is until the run ends, so that it need not be copied.
  virtual bool keeps_data() const { return false; }
};

/// Step IO by buffers, one for each input and each returned tensor.
///
/// Every request takes the next elements of a buffer; at its very end it starts over. A buffer can
/// hold the micro-batches of one run, or of several.
class StepBuffers final : public StepIo {
 public:
  void add_input(std::string_view name, AnyView buffer);
  void add_output(std::string_view name, AnyBuffer buffer);

  AnyView in(std::string_view name, std::int64_t elements, bool prefetch) override;
  void in_complete(std::string_view name, std::int64_t elements) override;
  AnyBuffer out(std::string_view name, std::int64_t elements) override;
  void out_complete(std::string_view name) override;
  void check(const Session& session) const override;
  bool keeps_data() const override { return true; }

 private:
  struct Buffer {
    std::vector<char> name;
    TensorInfo info;
    void* data = nullptr;
    std::int64_t at = 0;  // bytes
  };
  static Buffer& find(std::vector<Buffer>& buffers, std::string_view name, std::string_view what);
  static void* next(Buffer& buffer, std::int64_t elements);

  std::vector<Buffer> inputs_, outputs_;
};

}  // namespace halftone
