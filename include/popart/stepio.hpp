#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include <popart/iarray.hpp>
#include <popart/istepio.hpp>
#include <popart/names.hpp>
#include <popart/voiddata.hpp>

namespace popart {

/// Step IO by functions of the program.
class StepIOCallback : public IStepIO {
 public:
  using InputCallback = std::function<ConstVoidData(TensorId, bool)>;
  using InputCompleteCallback = std::function<void(TensorId)>;
  using OutputCallback = std::function<MutableVoidData(TensorId)>;
  using OutputCompleteCallback = std::function<void(TensorId)>;

  StepIOCallback(InputCallback inputCallback, InputCompleteCallback inputCompleteCallback,
                 OutputCallback outputCallback, OutputCompleteCallback outputCompleteCallback)
      : in_(std::move(inputCallback)),
        inComplete_(std::move(inputCompleteCallback)),
        out_(std::move(outputCallback)),
        outComplete_(std::move(outputCompleteCallback)) {}

  void assertNumElements(const popx::Executablex&) const override {}
  ConstVoidData in(TensorId id, int64_t, bool prefetch, bool) final { return in_(id, prefetch); }
  void inComplete(TensorId id, int64_t, bool) final { inComplete_(id); }
  MutableVoidData out(TensorId id, int64_t) final { return out_(id); }
  void outComplete(TensorId id) final { outComplete_(id); }

 private:
  InputCallback in_;
  InputCompleteCallback inComplete_;
  OutputCallback out_;
  OutputCompleteCallback outComplete_;
};

/// Memory that weights are read from or written to.
class IWeightsIO {
 public:
  virtual ~IWeightsIO() = default;
  virtual bool contains(TensorId id) const = 0;
  virtual MutableVoidData weight(TensorId id) const = 0;
};

class WeightsIO : public IWeightsIO {
 public:
  bool contains(TensorId id) const final { return weights_.count(id) > 0; }
  MutableVoidData weight(TensorId id) const final;
  void insert(TensorId id, MutableVoidData data);

 private:
  std::map<TensorId, MutableVoidData> weights_;
};

/// Step IO by arrays. Each request takes the next elements of an array and starts over at its end.
class StepIO : public IStepIO {
 public:
  StepIO(std::map<TensorId, IArray&> inputs, std::map<TensorId, IArray&> outputs);
  ~StepIO() override;

  void assertNumElements(const popx::Executablex& executable) const final;
  ConstVoidData in(TensorId id, int64_t numElements, bool prefetch, bool isBroadcast) final;
  void inComplete(TensorId id, int64_t numElements, bool isBroadcast) final;
  MutableVoidData out(TensorId id, int64_t numElements) final;

 private:
  struct Buffers;
  std::unique_ptr<Buffers> buffers_;
};

}  // namespace popart
