#!/usr/bin/env python3
"""Writes the builder's methods: one for each operator of each version of an operator set.

    /usr/bin/python3 src/popart/generate_builder.py [--check]

Needs Debian's python3-onnx and clang-format-19. The methods of ai.onnx follow from ONNX's schemas
by PopART's rules; those of ai.graphcore from the table below. With --check it only compares.
"""
import os
import struct
import subprocess
import sys

import onnx
from onnx import defs

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FIRST, LAST = 6, 17

# Method, operator, inputs (least and most, + for any number), outputs ('*': the caller says how
# many), attributes: name:kind, then '!' (must be given), '=' and a default that is not written, '~'
# and a default that is written (a node without it has another one), or nothing (optional). 'a>b':
# the parameter is named a, the attribute b. Kinds as in KINDS, 'n' for an integer that PopART's
# method takes as unsigned.
# A method of another form is declared in OTHER and defined in builder_graphcore.cpp: '-' as name.
GRAPHCORE = """
-                     CopyVarUpdate          2 2 1
batchnormalization    BatchNormalization     5 5 * epsilon:f=1e-05 momentum:f=0.9
groupnormalization    GroupNormalization     3 3 3 num_groups:i! epsilon:f=1e-05
-                     MultiConv              2 + * strides:I pads:I outPads:I dilations:I inDilations:I planType:s perConvReservedTiles:i cycleBackOff:f __available_memory:F __partials_type:S __enable_conv_dithering:I numConvs:i!
subsample             Subsample              1 1 1 strides:I!
-                     PrintTensor            1 1 1 print_gradient:i! title:s! summariseThreshold:i! edgeItems:i! maxLineWidth:i! digits:i! floatFormat:i! separator:i! openBracket:i! closeBracket:i!
nop                   Nop                    1 1 1
normalize_image       NormalizeImage         3 3 1 scale:f!
scale                 Scale                  1 1 1 scale:f!
scaledadd             ScaledAdd              2 4 1 scale0:f! scale1:f!
lstm                  LSTM                   2 5 2 outputFullSequence>output_full_sequence:i!
gelu                  Gelu                   1 1 1
geluerf               GeluErf                1 1 1
detach                Detach                 1 1 1
depthtospace          DepthToSpace           1 1 1 blocksize:i! mode:s=DCR
round                 Round                  1 1 1
-                     Init                   0 0 1 shape:I! data_type:i! init_type:i! tensor_type:i! batch_axis:i!
dynamicslice          DynamicSlice           2 3 1 axes:I! sizes:I! noOverlap:i!
dynamicupdate         DynamicUpdate          3 3 1 axes:I! sizes:I! noOverlap:i!
dynamiczero           DynamicZero            2 2 1 axes:I! sizes:I!
dynamicadd            DynamicAdd             3 3 1 axes:I! sizes:I!
sequenceslice         SequenceSlice          5 5 1 zeroUnused:i!
call                  Call                   0 + * callee:g!
-                     ReplicatedAllReduce    1 1 1 __collectiveOperator:i __collectiveCommGroup:I
-                     ReplicatedReduceScatter 1 1 1 __collectiveOperator:i __collectiveCommGroup:I
-                     L1                     1 1 1 lambda:f! reduction:s!
-                     Nll                    2 2 1 reduction:s! ignoreIndex:i inputIsLogProbability:i=0
-                     IdentityLoss           1 1 1 reduction:s!
tensorremap           TensorRemap            1 2 1 remap_type:i!
-                     Ctc                    4 4 2 reduction:s! blank:i! outDataType:i! zeroInfinity:i=0
ctcbeamsearchdecoder  CtcBeamSearchDecoder   2 2 3 blank:n=0 beamWidth>beam_width:n=100 topPaths>top_paths:n=1
shapeddropout         ShapedDropout          1 1 1 shape:I! ratio:f=0.5
atan2                 Atan2                  2 2 1
expm1                 Expm1                  1 1 1
log1p                 Log1p                  1 1 1
-                     Reshape                1 1 1 shape:I!
fmod                  Fmod                   2 2 1
remainder             Remainder              2 2 1
reverse               Reverse                1 1 1 dimensions:I!
slice                 Slice                  1 1 1 ends:I! starts:I! axes:I
packedDataBlock       PackedDataBlock        5 + 1 maxSequenceLengths:I! resultSize:i! callbackBatchSize:i! callback:g!
-                     Abort                  0 1 0
bitwisenot            BitwiseNot             1 1 1
bitwiseand            BitwiseAnd             2 2 1
bitwiseor             BitwiseOr              2 2 1
bitwisexor            BitwiseXor             2 2 1
bitwisexnor           BitwiseXnor            2 2 1
reducemedian          ReduceMedian           1 1 2 axes:I keepdims:i=1
groupedgather         GroupedGather          2 2 1 axis:i=0 group_size:i=1
-                     ScatterReduce          2 3 1 axis_size:i! axis:i=-1 reduction:s=sum group_size:i=1 enable_index_broadcast:i=1
swish                 Swish                  1 1 1
incrementmod          IncrementMod           1 1 1 increment:f! modulus:f!
bucketize             Bucketize              2 2 1 right:i=0
sort                  Sort                   1 1 2 axis:i=-1 descending:i=0 stable:i=0
nearbyint             NearbyInt              1 1 1
splinebasis           SplineBasis            3 3 2 degree:i~1
splineweighting       SplineWeighting        4 4 1
"""

OTHER = """
  /// Stores the second tensor in the first one, which has to be initialised.
  TensorId copyvarupdate(const Ids& args, const DebugContext& debugContext = {});
  /// Convolutions with inputs of their own: data, weights and perhaps a bias each. Every list has
  /// as many elements as there are convolutions, or none.
  Ids multiconv(const MultiConvInputs& tensors, const MultiConvDilations& dilations = {},
                const MultiConvDilations& inDilations = {}, const MultiConvPads& pads = {},
                const MultiConvPads& outPads = {}, const MultiConvStrides& strides = {},
                const Floats& availableMemoryProportions = {}, const Strings& partialsTypes = {},
                const nonstd::optional<std::string> planType = nonstd::nullopt,
                const nonstd::optional<int> perConvReservedTiles = nonstd::nullopt,
                const nonstd::optional<float> cycleBackOff = nonstd::nullopt,
                const Ints enableConvDithering = {}, const DebugContext& debugContext = {});
  TensorId printtensor(const Ids& args, int64_t print_gradient = 1,
                       const DebugContext& debugContext = {}, const std::string& title = {},
                       const int summariseThreshold = 1000, const int edgeItems = 3,
                       const int maxLineWidth = 75, const int digits = 8,
                       const int floatFormat = 0, const char separator = ' ',
                       const char openBracket = '[', const char closeBracket = ']');
  /// `data_type` is a number of PopART's DataType.
  TensorId init(Ints shape, int64_t data_type, int64_t init_type, int64_t batch_axis,
                const DebugContext& debugContext = {});
  TensorId init(Ints shape, int64_t data_type, int64_t init_type,
                const DebugContext& debugContext = {});
  TensorId replicatedallreduce(const Ids& args,
                               const nonstd::optional<Ints>& commGroup = nonstd::nullopt,
                               const DebugContext& debugContext = {});
  TensorId replicatedallreduce(const Ids& args,
                               const nonstd::optional<CollectiveOperator>& collectiveOperator,
                               const nonstd::optional<CommGroup>& commGroup = nonstd::nullopt,
                               const DebugContext& debugContext = {});
  TensorId replicatedreducescatter(
      const Ids& args,
      const nonstd::optional<CollectiveOperator>& collectiveOperator = nonstd::nullopt,
      const nonstd::optional<CommGroup>& commGroup = nonstd::nullopt,
      const DebugContext& debugContext = {});
  TensorId l1loss(const Ids& args, const float lambda,
                  const ReductionType reduction = ReductionType::Mean,
                  const DebugContext& debugContext = {});
  TensorId nllloss(const Ids& args, const ReductionType reduction = ReductionType::Mean,
                   const nonstd::optional<int> ignoreIndex = nonstd::nullopt,
                   bool inputIsLogProbability = false, const DebugContext& debugContext = {});
  TensorId identityloss(const Ids& args, const ReductionType reduction = ReductionType::Mean,
                        const DebugContext& debugContext = {});
  TensorId ctcloss(const Ids& args, const ReductionType reduction = ReductionType::Mean,
                   const unsigned blank = 0, const std::string& outDataType = "UNDEFINED",
                   const bool zeroInfinity = false, const DebugContext& debugContext = {});
  /// The same with the second output, the gradient.
  Ids _ctcloss(const Ids& args, const ReductionType reduction = ReductionType::Mean,
               const unsigned blank = 0, const std::string& outDataType = "UNDEFINED",
               const bool zeroInfinity = false, const DebugContext& debugContext = {});
  TensorId reshape(const TensorId& arg, const Ints& shape, const DebugContext& debugContext = {});
  void abort(const Ids& args = {}, const DebugContext& debugContext = {});
  TensorId groupedscatterreduce(const Ids& args, int64_t axis_size, int64_t axis = -1,
                                ScatterReduction reduction = ScatterReduction::Sum,
                                int64_t group_size = 1, int64_t enable_index_broadcast = 1,
                                const DebugContext& debugContext = {});
  TensorId scatterreduce(const Ids& args, int64_t axis_size, int64_t axis = -1,
                         ScatterReduction reduction = ScatterReduction::Sum,
                         int64_t enable_index_broadcast = 1,
                         const DebugContext& debugContext = {});
"""

# Kind: type of a parameter that must be given or has a default; type if it may be left out.
KINDS = {
    'i': ('int64_t', 'nonstd::optional<int64_t>'),
    'n': ('unsigned', None),
    'f': ('float', 'nonstd::optional<float>'),
    's': ('const std::string&', 'nonstd::optional<std::string>'),
    'I': ('const Ints&', 'const Ints&'),
    'F': ('const Floats&', 'const Floats&'),
    'S': ('const Strings&', 'const Strings&'),
    't': ('const ConstVoidData&', None),
    'g': ('const Builder&', None),
    'T': ('const std::string&', None),  # an element type by its name
}

T = defs.OpSchema.AttrType
KIND_OF = {T.INT: 'i', T.FLOAT: 'f', T.STRING: 's', T.INTS: 'I', T.FLOATS: 'F', T.STRINGS: 'S',
           T.TENSOR: 't', T.GRAPH: 'g'}
RESERVED = {'and', 'or', 'not', 'xor', 'if'}
ANY = '-1'


class Attribute:
    def __init__(self, name, kind, required=False, default=None, parameter=None, absent=False,
                 written=False):
        self.written = written
        self.name, self.kind, self.required, self.default = name, kind, required, default
        self.parameter = parameter or name
        # A list that may be left out: an empty one is something else there.
        self.absent = absent

    def declared(self):
        given, optional = KINDS[self.kind]
        if self.required:
            return f'{given} {self.parameter}'
        if self.default is not None:
            return f'{given} {self.parameter} = {self.literal()}'
        if self.absent:
            return f'nonstd::optional<Ints> {self.parameter} = {{}}'
        return f'{optional} {self.parameter} = {{}}'

    def defined(self):
        given, optional = KINDS[self.kind]
        if self.absent:
            return f'nonstd::optional<Ints> {self.parameter}'
        return f'{given if self.required or self.default is not None else optional} {self.parameter}'

    def passed(self):
        if self.kind == 'T':
            return f'elementTypeNumber({self.parameter})'
        if self.kind == 'n':
            return f'int64_t{{{self.parameter}}}'
        return self.parameter

    def literal(self):
        if self.kind in 'in':
            return str(self.default)
        if self.kind == 's':
            return f'"{self.default}"'
        return f'{self.default}f'

    def sample(self):
        if self.absent:
            return 'std::vector<int64_t>{1, 2}'
        return {'i': '3', 'n': '3', 'f': '0.25f', 's': '"text"', 'I': '{1, 2}', 'F': '{1, 2}',
                'S': '{"a", "b"}', 't': 'tensor()', 'g': 'body', 'T': '"FLOAT16"'}[self.kind]

    def text(self):
        kind = {'T': 'i', 'n': 'i'}.get(self.kind, self.kind)
        end = '!' if self.required or self.written else f'={self.default}' if self.default is not None else ''
        return f'{self.name}:{kind}{end}'


class Method:
    def __init__(self, version, name, op, inputs, outputs, attributes, domain='ai.onnx',
                 least_outputs=1):
        self.least_outputs = least_outputs
        self.version, self.name, self.op = version, name, op
        self.inputs, self.attributes, self.domain = inputs, attributes, domain
        self.outputs = outputs  # a number, or None if the caller says how many

    def parameters(self, form):
        given = ['const Ids& args'] if self.inputs[1] != '0' else []
        if self.outputs is None:
            given.append('unsigned num_outputs')
        given += [getattr(a, form)() for a in self.attributes]
        if self.op == 'Constant' and self.version >= 11:
            given.append('bool is_value_sparse' + (' = false' if form == 'declared' else ''))
        given.append('const DebugContext& debugContext' + (' = {}' if form == 'declared' else ''))
        return ', '.join(given)

    def result(self):
        return 'TensorId' if self.outputs == 1 else 'Ids'

    def declaration(self):
        return f'  {self.result()} {self.name}({self.parameters("declared")});\n'

    def definition(self, owner):
        args = 'args' if self.inputs[1] != '0' else '{}'
        count = 'num_outputs' if self.outputs is None else str(self.outputs)
        count = '' if self.outputs == 1 else f', {count}'
        values = ', '.join(a.passed() for a in self.attributes)
        function = 'output' if self.outputs == 1 else 'outputs'
        body = f'return {function}("{self.op}", {args}{count}, {{{values}}}, debugContext);'
        if self.op == 'Constant' and self.version >= 11:
            body = f'refuseSparse(is_value_sparse); {body}'
        return f'{self.result()} {owner}::{self.name}({self.parameters("defined")}) {{ {body} }}\n'

    def call(self):
        # With another value than the default for every attribute.
        given = []
        if self.inputs[1] != '0':
            given.append(f'ids({max(int(self.inputs[0]), 1 if self.inputs[1] == ANY else 0)})')
        if self.outputs is None:
            given.append(str(max(self.least_outputs, 1)))
        given += [a.sample() for a in self.attributes]
        return f'  opset.{self.name}({", ".join(given)});\n'

    def row(self):
        attributes = ' '.join(a.text() for a in self.attributes)
        return (f'{{"{self.domain}", "{self.op}", {self.version}, {self.inputs[0]}, '
                f'{self.inputs[1]}, "{attributes}"}},\n')


def short_float(value):
    # The shortest text that is the same float.
    exact = struct.unpack('f', struct.pack('f', value))[0]
    for digits in range(1, 18):
        text = f'{exact:.{digits}g}'
        if struct.unpack('f', struct.pack('f', float(text)))[0] == exact:
            return text if 'e' in text or '.' in text else text + '.0'
    raise ValueError(value)


def onnx_attributes(schema):
    found = []
    for name, a in sorted(schema.attributes.items()):
        # PopART has no parameter for automatic padding; a constant is given as a tensor.
        if name == 'auto_pad' or a.type not in KIND_OF:
            continue
        if schema.name == 'Constant' and name != 'value':
            continue
        kind = KIND_OF[a.type]
        required = a.required or kind == 't'
        default = None
        if a.default_value.name:
            default = onnx.helper.get_attribute_value(a.default_value)
            if kind == 'f':
                default = short_float(default)
            elif kind == 's':
                default = default.decode()
            elif kind != 'i':
                default = None
        if schema.name == 'Cast' and name == 'to':
            kind = 'T'
        absent = schema.name.startswith('Reduce') and name == 'axes'
        found.append(Attribute(name, kind, required, default, absent=absent))
    return [a for a in found if a.required] + [a for a in found if not a.required]


def onnx_methods(version):
    newest = {}
    for s in defs.get_all_schemas_with_history():
        if s.domain == '' and s.since_version <= version:
            if s.name not in newest or newest[s.name].since_version < s.since_version:
                newest[s.name] = s
    for name, s in sorted(newest.items()):
        if s.since_version != version and version != FIRST:
            continue
        if s.deprecated and version > 11:  # PopART's classes have them
            continue
        lower = name.lower()
        any_inputs = s.max_input > 1 << 20
        most = s.max_input + (name == 'MatMul')  # of float8 numbers it has a power of two, too
        outputs = s.max_output if s.min_output == s.max_output or s.max_output == 1 else None
        yield Method(version, 'logical_' + lower if lower in RESERVED else lower, name,
                     (str(s.min_input), ANY if any_inputs else str(most)), outputs,
                     onnx_attributes(s), least_outputs=s.min_output)


def graphcore_methods():
    for line in GRAPHCORE.strip().splitlines():
        name, op, least, most, outputs, *attributes = line.split()
        found = []
        for text in attributes:
            head, rest = text.split(':', 1)
            parameter, _, attribute = head.rpartition('>')
            kind, end = rest[0], rest[1:]
            default = end[1:] if end[:1] in ('=', '~') else None
            found.append(Attribute(attribute, kind, end == '!', default, parameter or attribute,
                                   written=end.startswith('~'),
                                   absent=op == 'ReduceMedian' and attribute == 'axes'))
        yield Method(1, name, op, (least, ANY if most == '+' else most),
                     None if outputs == '*' else int(outputs), found, 'ai.graphcore')


def formatted(text, path):
    return subprocess.run(['clang-format-19', f'--assume-filename={path}'], input=text, text=True,
                          check=True, capture_output=True, cwd=ROOT).stdout


def header(versions, graphcore):
    text = '''#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <popart/domainopset.hpp>

// Written by src/popart/generate_builder.py.
//
// One method for each operator of a version of an operator set: inputs, the number of outputs where
// it varies, attributes (those that must be given first, then by name), a name.

namespace popart {

'''
    for version, methods in versions.items():
        base = 'DomainOpSet' if version == FIRST else f'AiOnnxOpset{version - 1}'
        what = ('The operators of version 6 of ONNX\'s default domain.' if version == FIRST else
                f'The operators of version {version} of ONNX\'s default domain: new ones and those '
                'that changed.')
        if version > 11:
            what += ' (Not in\n/// PopART.)'
        text += f'''/// {what}
class AiOnnxOpset{version} : public {base} {{
 public:
  explicit AiOnnxOpset{version}(BuilderImpl& impl) : {base}(impl) {{}}
  int getOpsetVersion() const override {{ return {version}; }}

'''
        text += ''.join(m.declaration() for m in methods) + '};\n\n'
    text += '''/// The operators of ai.graphcore.
class AiGraphcoreOpset1 : public DomainOpSet {
 public:
  explicit AiGraphcoreOpset1(BuilderImpl& impl) : DomainOpSet(impl) {}
  int getOpsetVersion() const override { return 1; }
  const char* getDomain() const override { return "ai.graphcore"; }

'''
    text += ''.join(m.declaration() for m in graphcore if m.name != '-')
    text += OTHER.rstrip().replace('\n\n', '\n') + '\n};\n\n}  // namespace popart\n'
    return text


def source(versions, graphcore):
    text = '''#include <popart/builder.hpp>

#include "popart/builder_impl.hpp"
#include "popart/builder_methods.hpp"

// Written by src/popart/generate_builder.py.

namespace popart {

namespace {

constexpr BuilderMethod methods[] = {
'''
    every = [m for methods in versions.values() for m in methods] + graphcore
    every.sort(key=lambda m: (m.domain, m.op, m.version))
    # Class 6 has operators of older versions, too.
    text += ''.join(m.row() for m in every)
    text += '''};

}  // namespace

std::span<const BuilderMethod> builderMethods() { return methods; }

'''
    for version, methods in versions.items():
        text += ''.join(m.definition(f'AiOnnxOpset{version}') for m in methods) + '\n'
    text += ''.join(m.definition('AiGraphcoreOpset1') for m in graphcore if m.name != '-')
    # `Ids` is a member of the classes.
    text = text.replace('\nIds AiG', '\nDomainOpSet::Ids AiG').replace(
        '\nIds AiO', '\nDomainOpSet::Ids AiO')
    return text + '\n}  // namespace popart\n'


def tests(versions, graphcore):
    text = '''#include "builder_calls.hpp"

#include <popart/builder.hpp>

// Written by src/popart/generate_builder.py.

using popart::Builder;
using popart::ConstVoidData;
using popart::TensorInfo;

namespace test {

namespace {

std::vector<std::string> ids(int count) {
  return std::vector<std::string>(static_cast<std::size_t>(count), "x");
}

ConstVoidData tensor() {
  static const float data[] = {1, 2};
  return {data, TensorInfo("FLOAT", popart::Shape{2})};
}

'''
    for name, methods in [(f'AiOnnxOpset{v}', m) for v, m in versions.items()] + [
            ('AiGraphcoreOpset1', [m for m in graphcore if m.name != '-'])]:
        text += f'void callAll(popart::{name} opset, [[maybe_unused]] const Builder& body) {{\n'
        text += ''.join(m.call() for m in methods) + '}\n\n'
    text += '}  // namespace\n\nvoid callEvery(Builder& builder, const Builder& body, int opset) {\n'
    for v in versions:
        text += f'  if (opset == {v}) callAll(builder.aiOnnxOpset{v}(), body);\n'
    text += ('  if (opset == 0) callAll(builder.aiGraphcoreOpset1(), body);\n}\n\n'
             '}  // namespace test\n')
    return text


def main():
    versions = {v: list(onnx_methods(v)) for v in range(FIRST, LAST + 1)}
    graphcore = list(graphcore_methods())
    wrong = False
    for path, text in (('include/popart/builder.gen.hpp', header(versions, graphcore)),
                       ('src/popart/builder_methods.cpp', source(versions, graphcore)),
                       ('tests/popart/builder_calls.cpp', tests(versions, graphcore))):
        text = formatted(text, path)
        whole = os.path.join(ROOT, path)
        if sys.argv[1:] == ['--check']:
            with open(whole, encoding='utf-8') as f:
                if f.read() != text:
                    print(f'{path} is not what the generator writes')
                    wrong = True
        else:
            with open(whole, 'w', encoding='utf-8') as f:
                f.write(text)
    return int(wrong)


if __name__ == '__main__':
    sys.exit(main())
