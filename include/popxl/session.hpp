#pragma once

#include <exception>
#include <initializer_list>
#include <memory>
#include <vector>

#include <halftone/session/host_outputs.hpp>
#include <halftone/session/session.hpp>
#include <popxl/ir.hpp>

namespace popart {
class DeviceInfo;
}

namespace popxl {

using halftone::HostBuffer, halftone::HostOutputs;

/// Runs an Ir on a device while it is attached to it. It takes the Ir, which cannot be changed any
/// more.
///
///   Session session(ir, "ipu_model");
///   {
///     auto on = session.attach();        // with session: weights go to the device
///     auto out = session.run({{x_stream, x}});
///     out[y_stream];
///   }                                    // weights come back, the session is detached
///   session.get_tensor_data(w);          // the host's copy
///
/// For a stream, arrays have the shape [num_host_transfers, replicas, slice] without the first two where
/// they are 1.
///
/// source  popxl.Session
class Session {
  struct State;

 public:
  /// device_desc              "cpu"; "ipu_model"; "ipu_hw", which there is none of; the name of a
  ///                          machine, see halftone::ipu::find_target. The environment variable
  ///                          POPXL_OFFLINE_DEVICE overrides it
  /// weights_to_host_on_exit  leaving the outermost attachment brings the weights to the host; off
  ///                          if a variable is mapped from a file that is only read
  /// errors                   RuntimeError: ipu_hw, an Ir that another session has taken; ValueError:
  ///                          another word, "cpu" with replicas; those of halftone::Session
  explicit Session(const Ir& ir, std::string_view device_desc = "cpu",
                   bool weights_to_host_on_exit = true);
  explicit Session(const Ir& ir, halftone::Device device, bool weights_to_host_on_exit = true)
      : Session(ir, device == halftone::Device::ipu_model ? "ipu_model" : "cpu",
                weights_to_host_on_exit) {}
  /// On a device of popart::DeviceManager, as it is: one that is attached stays so.
  Session(const Ir& ir, std::shared_ptr<popart::DeviceInfo> device,
          bool weights_to_host_on_exit = true);
  Session(Session&&) noexcept;
  ~Session();

  /// The Ir, to look at.
  Ir ir() const;
  bool is_attached() const;
  /// Whether the host's copies of the variables are those of the device.
  bool in_sync_with_ipu() const;

  /// The session is attached as long as this lives, if it was not before. Leaving the outermost one
  /// brings the weights to the host, unless an exception is on its way, and detaches.
  class Attachment {
   public:
    explicit Attachment(Session& session);
    Attachment(const Attachment&) = delete;
    ~Attachment();

   private:
    State& state_;  ///< a session that moves meanwhile has it still
    bool is_outermost_;
    int exceptions_ = std::uncaught_exceptions();
  };
  /// errors  RuntimeError: the device cannot be attached to
  [[nodiscard]] Attachment attach() { return Attachment(*this); }

  /// The streams that something loads from.
  std::vector<halftone::AnyHostToDevice> expected_inputs() const;
  /// Zeroed arrays for all streams that something stores to.
  HostOutputs create_host_outputs() const;
  /// One run with these inputs. downcast_inputs: float64, int64 and uint64 become 32 bits where the
  /// stream has these.
  ///
  /// errors  before anything runs. ValueError: not attached, streams that are missing or not expected,
  ///         another shape; TypeError: another element type
  HostOutputs run(std::span<const halftone::Input> inputs, bool downcast_inputs = true);
  HostOutputs run(std::initializer_list<halftone::Input> inputs = {}, bool downcast_inputs = true) {
    return run(std::span(inputs.begin(), inputs.size()), downcast_inputs);
  }
  /// The same into memory of the program, one buffer for each stream.
  void run_with_outputs(std::span<const halftone::Input> inputs,
                        const std::vector<HostBuffer>& outputs, bool downcast_inputs = true);
  void run_with_outputs(std::initializer_list<halftone::Input> inputs,
                        const std::vector<HostBuffer>& outputs, bool downcast_inputs = true) {
    run_with_outputs(std::span(inputs.begin(), inputs.size()), outputs, downcast_inputs);
  }

  /// Copies all weights to the device. errors  ValueError: not attached
  void weights_from_host();
  /// Copies all weights to the host. errors  ValueError: not attached; RuntimeError: a variable is
  /// mapped from a file that is only read
  void weights_to_host();

  /// The value of a variable or constant, a view that is good until the next transfer: of the device if
  /// the session is attached, taken from it only if a run may have changed it. Of replicas: [groups,
  /// shape], or every replica's, as the variable's retrieval mode says.
  ///
  /// errors  TypeError: neither a variable nor a constant
  AnyView get_tensor_data(const AnyTensor& tensor);
  template <class T, class S>
  std::span<const T> get_tensor_data(const Tensor<T, S>& tensor) {
    return get_tensor_data(AnyTensor(tensor)).values<T>();
  }
  /// Of several, with one transfer.
  std::vector<AnyView> get_tensors_data(const std::vector<AnyTensor>& tensors);
  /// Gives variables other values: on the host, and on the device if the session is attached.
  ///
  /// errors  before anything changes. TypeError: no variable, another element type; ValueError: another
  ///         shape; NotImplementedError: a variable that is read from all replicas
  void write_variable_data(const AnyTensor& variable, const AnyView& data) {
    write_variables_data({{variable, data}});
  }
  void write_variables_data(std::initializer_list<std::pair<AnyTensor, AnyView>> values);

  /// The machine's report on a run; see halftone::Session::report.
  const halftone::ipu::Report& report() const;

 private:
  halftone::Owned<State> state_;
};

}  // namespace popxl
