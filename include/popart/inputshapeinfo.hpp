#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include <popart/names.hpp>
#include <popart/tensorinfo.hpp>

namespace popart {

/// Infos of inputs that the model leaves open.
class InputShapeInfo {
 public:
  void add(TensorId id, const TensorInfo& info) { infos_[id] = info; }
  const TensorInfo& get(TensorId id) const;
  bool has(TensorId id) const { return infos_.count(id) > 0; }
  std::vector<TensorId> getAllTensorIds() const;
  const std::map<TensorId, TensorInfo>& getInfos() const { return infos_; }

 private:
  std::map<TensorId, TensorInfo> infos_;
};

}  // namespace popart
