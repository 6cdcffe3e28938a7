#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <ostream>
#include <set>
#include <sstream>

#include <popart/error.hpp>
#include <popart/graph.hpp>
#include <popart/op/ipucopy.hpp>

#include "popart/convert.hpp"
#include "popart/ir_graph.hpp"

namespace popart {

namespace {

constexpr const char* pointNames[] = {"Fwd0", "Fwd1", "Bwd0", "PreAlias", "MainLoops", "Final"};

std::string lowercase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// What the options and the environment ask for, in lower case; names that mean nothing are ignored.
std::set<std::string> askedPoints(const SessionOptions& options) {
  std::set<std::string> asked;
  for (const std::string& check : options.dotChecks) asked.insert(lowercase(check));
  if (const char* variable = std::getenv("POPART_DOT_CHECKS")) {
    std::istringstream names(variable);
    for (std::string name; std::getline(names, name, ':');) asked.insert(lowercase(name));
  }
  return asked;
}

std::string quotedDot(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

const char* colourOf(const Tensor& tensor) {
  switch (tensor.tensorType()) {
    case TensorType::Stream:
      return "red";
    case TensorType::Const:
      return "gold";
    case TensorType::Variable:
      return "blue";
    case TensorType::ActGrad:
    case TensorType::Unknown:
    case TensorType::N:
      break;
  }
  return "black";
}

/// Digits in parentheses stand for a graph's name.
std::string shortName(const GraphId& id) {
  if (id == GraphId::root()) return "r";
  const std::string& name = id.str();
  const std::size_t open = name.find('('), close = name.find(')');
  if (open != name.npos && close != name.npos && close > open) {
    return name.substr(open + 1, close - open - 1);
  }
  std::string plain = name;
  std::replace(plain.begin(), plain.end(), '/', '_');
  return plain;
}

class DotWriter {
 public:
  explicit DotWriter(const SessionOptions& options) : options_(options) {}

  void add(const Op& op) {
    std::ostream& out = file(op.getGraph());
    std::ostringstream label;
    label << count_[&op.getGraph()]++ << ". " << op.opid.type << " (" << op.id << ')';
    for (const Graph* graph : op.getCalledGraphs()) label << " <" << shortName(graph->id) << '>';
    if (options_.dotOpNames && !op.name().empty())
      label << " (" << op.id << ':' << op.name() << ')';
    if (op.hasVirtualGraphId()) label << " vgid:" << op.getVirtualGraphId();
    if (op.hasExecutionPhase()) label << " pp:" << op.getExecutionPhase();
    if (const auto* copy = dynamic_cast<const IpuCopyOp*>(&op)) {
      label << " sIpu:" << copy->getSourceIpu() << " dIpu:" << copy->getDestIpu();
    }
    label << " ts:" << (op.settings.tileSet == TileSet::IO ? "IO" : "Compute");
    const bool isInPlace = op.opid.type.find("Inplace") != std::string::npos;
    out << nodeOf(op) << " [shape=box, label=" << quotedDot(label.str())
        << ", color=" << (isInPlace ? "\"#6B8E23\"" : "black") << "];\n";
    for (const auto& [index, tensor] : op.input->tensorMap()) {
      if (!tensor->hasProducer()) {
        addTensor(out, *tensor);
        addEdge(out, quotedDot(tensor->id), nodeOf(op), op, index, *tensor);
      } else {
        addEdge(out, nodeOf(*tensor->getProducer()), nodeOf(op), op, index, *tensor);
      }
    }
    for (const auto& [index, tensor] : op.output->tensorMap()) {
      if (tensor->consumers.getTotal() != 0) continue;
      addTensor(out, *tensor);
      out << nodeOf(op) << " -> " << quotedDot(tensor->id)
          << " [color=black, label=" << quotedDot(tensor->id) << "];\n";
    }
  }
  void save(const std::string& check) {
    const std::string folder = options_.logDir.empty() ? "." : options_.logDir;
    for (const auto& [name, text] : files_) {
      const std::string path = folder + "/" + check + "_" + name + ".dot";
      std::ofstream file(path);
      if (!file.is_open()) throw error("failed to open file `{}'", path);
      file << "digraph net {\nsize=\"6,6\";\n" << text.str() << "}\n";
    }
  }

 private:
  static std::string nodeOf(const Op& op) { return "\"n_" + std::to_string(op.id) + '"'; }
  std::ostream& file(const Graph& graph) {
    return files_[options_.separateCallOpPdfs ? shortName(graph.id) : "all"];
  }
  void addTensor(std::ostream& out, const Tensor& tensor) {
    if (!tensors_.insert(&tensor).second) return;
    std::ostringstream label;
    label << tensor.info << "  nc:" << tensor.consumers.getTotal();
    out << quotedDot(tensor.id) << " [shape=egg, label=" << quotedDot(label.str())
        << ", color=" << quotedDot(colourOf(tensor)) << "];\n";
  }
  static void addEdge(std::ostream& out, const std::string& from, const std::string& to,
                      const Op& op, InIndex index, const Tensor& tensor) {
    bool isAliased = false;
    for (const auto& [o, unused] : op.output->tensorMap()) isAliased |= op.aliases(index, o);
    const bool isModified = op.modifiesIndex(index);
    const char* colour = isModified && isAliased ? "violet"
                         : isModified            ? "red"
                         : isAliased             ? "blue"
                                                 : "black";
    out << from << " -> " << to << " [color=" << colour << ", label=" << quotedDot(tensor.id)
        << "];\n";
  }

  const SessionOptions& options_;
  std::map<std::string, std::ostringstream> files_;
  std::map<const Graph*, int> count_;
  std::set<const Tensor*> tensors_;
};

}  // namespace

void detail::writeDot(const std::vector<Op*>& schedule, const SessionOptions& options,
                      const std::string& check) {
  const auto count = static_cast<int>(schedule.size());
  const int first = std::max(0, options.firstDotOp), end = std::min(options.finalDotOp, count);
  if (first >= end && count != 0) {
    throw error("Invalid dot range ({}, {}) with schedule of size {}, as no Ops will be exported",
                options.firstDotOp, options.finalDotOp, count);
  }
  DotWriter writer(options);
  for (int i = first; i < end; ++i) writer.add(*schedule[static_cast<std::size_t>(i)]);
  writer.save(check);
}

void detail::writeDots(const IrSource& source, std::initializer_list<IrPoint> points) {
  const std::set<std::string> asked = askedPoints(source.options);
  if (asked.empty()) return;
  for (const IrPoint point : points) {
    const std::string name = pointNames[static_cast<int>(point)];
    if (asked.count(lowercase(name)) == 0 && asked.count("all") == 0) continue;
    Ir ir;
    const Graphs graphs = viewOf(ir, source, point);
    std::vector<Op*> schedule;
    std::set<const Graph*> seen;
    const auto visit = [&](auto& self, const Graph& graph) -> void {
      if (!seen.insert(&graph).second) return;
      const std::vector<Op*> own = graph.getOpSchedule();
      schedule.insert(schedule.end(), own.begin(), own.end());
      for (const Graph* called : graph.getCalledGraphs()) self(self, *called);
    };
    visit(visit, *graphs.at(GraphId::root()));
    writeDot(schedule, source.options, name);
  }
}

void Ir::dotCheckpoint(const Ir& ir, const std::string& check) const {
  const std::set<std::string> asked = askedPoints(ir.getSessionOptions());
  if (asked.count(lowercase(check)) == 0 && asked.count("all") == 0) return;
  detail::writeDot(ir.getOpSchedule(), ir.getSessionOptions(), check);
}

}  // namespace popart
