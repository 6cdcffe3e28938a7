#include "cli/optimizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <optional>

#include "base/describe.hpp"

namespace halftone::cli {
namespace {

/// The members of an optimizer's description.
class Description {
 public:
  Description(const Json& members, const Refuse& refuse) : json_(members), refuse_(refuse) {}

  std::string text(const char* key, std::optional<std::string> otherwise = {}) const {
    return member<std::string>(json_, key, std::move(otherwise), refuse_);
  }
  float number(const char* key, std::optional<float> otherwise = {}) const {
    return member<float>(json_, key, otherwise, refuse_);
  }
  bool is(const char* key) const { return member<bool>(json_, key, false, refuse_); }

  void check_members(std::initializer_list<std::string_view> known) const {
    for (const auto& [key, value] : json_.items()) {
      if (key == "type" || std::find(known.begin(), known.end(), key) != known.end()) continue;
      std::string names;
      for (const std::string_view name : known) {
        names += names.empty() ? "there are " : ", ";
        names += name;
      }
      fail(ErrorKind::unsupported,
           {.what = "the optimizer has no such hyperparameter", .found = key, .hint = names});
    }
  }
  WeightDecay decay_mode() const {
    const std::string mode = text("weight_decay_mode", "decay");
    if (mode != "decay" && mode != "l2") {
      refuse_(fmt::format("there is no weight decay mode '{}'", detail::escaped(mode)));
    }
    return mode == "l2" ? WeightDecay::l2 : WeightDecay::decay;
  }
  void refuse(const std::string& what) const { refuse_(what); }

 private:
  const Json& json_;
  const Refuse& refuse_;
};

}  // namespace

Training record_training(const Json& optimizer, Graph& graph, AnyTensor loss,
                         const TrainOptions& options, float& loss_scaling, const Refuse& refuse) {
  const Description o(optimizer, refuse);
  const std::string type = o.text("type");
  loss_scaling = o.number("loss_scaling", 1.f);
  if (type == "sgd") {
    o.check_members({"lr", "momentum", "dampening", "weight_decay", "nesterov", "loss_scaling",
                     "velocity_scaling", "accumulator_and_momentum"});
    const std::string form = o.text("accumulator_and_momentum", "combined");
    if (form != "combined" && form != "separate") {
      o.refuse(fmt::format("there is no accumulator form '{}'", detail::escaped(form)));
    }
    return train(graph, loss,
                 Sgd{.learning_rate = o.number("lr"),
                     .momentum = o.number("momentum", 0.f),
                     .dampening = o.number("dampening", 0.f),
                     .weight_decay = o.number("weight_decay", 0.f),
                     .velocity_scaling = o.number("velocity_scaling", 1.f),
                     .loss_scaling = loss_scaling,
                     .nesterov = o.is("nesterov"),
                     .combined = form == "combined"},
                 options);
  }
  if (type == "adam" || type == "adam_no_bias" || type == "adamax" || type == "lamb" ||
      type == "lamb_no_bias") {
    o.check_members({"lr", "beta1", "beta2", "eps", "weight_decay", "weight_decay_mode",
                     "loss_scaling", "max_weight_norm"});
    return train(graph, loss,
                 Adam{.learning_rate = o.number("lr"),
                      .beta1 = o.number("beta1", 0.9f),
                      .beta2 = o.number("beta2", 0.999f),
                      .epsilon = o.number("eps", 1e-6f),
                      .weight_decay = o.number("weight_decay", 0.f),
                      .loss_scaling = loss_scaling,
                      .bias_correction = !type.ends_with("_no_bias"),
                      .max = type == "adamax",
                      .lamb = type.starts_with("lamb"),
                      .weight_decay_mode = o.decay_mode(),
                      .max_weight_norm = o.number("max_weight_norm", 65504.f)},
                 options);
  }
  constexpr std::string_view kinds[] = {"adagrad", "rmsprop", "centered_rmsprop", "adadelta"};
  for (std::size_t k = 0; k < std::size(kinds); ++k) {
    if (type != kinds[k]) continue;
    o.check_members({"lr", "alpha", "momentum", "eps", "weight_decay", "weight_decay_mode",
                     "loss_scaling", "tf_variant"});
    return train(graph, loss,
                 Adaptive{.kind = static_cast<AdaptiveKind>(k),
                          .learning_rate = o.number("lr"),
                          .alpha = o.number("alpha", 0.99f),
                          .momentum = o.number("momentum", 0.f),
                          .epsilon = o.number("eps", 1e-6f),
                          .weight_decay = o.number("weight_decay", 0.f),
                          .loss_scaling = loss_scaling,
                          .tf_variant = o.is("tf_variant"),
                          .weight_decay_mode = o.decay_mode()},
                 options);
  }
  fail(ErrorKind::unsupported,
       {.what = "there is no such optimizer",
        .found = type,
        .hint = "there are sgd, adam, adam_no_bias, adamax, lamb, lamb_no_bias, adagrad, rmsprop, "
                "centered_rmsprop, adadelta"});
}

Json parse_optimizer(std::string_view text) {
  const std::size_t colon = text.find(':');
  Json json{{"type", text.substr(0, colon)}};
  if (colon == text.npos) text = {};
  text.remove_prefix(std::min(colon + 1, text.size()));
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    const std::size_t sign = item.find('=');
    const std::string key(item.substr(0, sign));
    if (sign == item.npos || sign == 0 || json.contains(key)) {
      fail(ErrorKind::usage,
           {.what = "an optimizer is given as KIND:NAME=VALUE,..., each name once", .found = item});
    }
    const std::string_view value = item.substr(sign + 1);
    json[key] = Json::parse(value, nullptr, false);
    if (json[key].is_discarded() || json[key].is_structured()) json[key] = std::string(value);
  }
  return json;
}

}  // namespace halftone::cli
