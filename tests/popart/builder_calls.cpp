#include "builder_calls.hpp"

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

void callAll(popart::AiOnnxOpset6 opset, [[maybe_unused]] const Builder& body) {
  opset.abs(ids(1));
  opset.add(ids(2), 3, 3);
  opset.logical_and(ids(2), 3, 3);
  opset.argmax(ids(1), 3, 3);
  opset.argmin(ids(1), 3, 3);
  opset.averagepool(ids(1), {1, 2}, {1, 2}, {1, 2});
  opset.batchnormalization(ids(5), 1, 0.25f, 3, 0.25f, 3);
  opset.cast(ids(1), "FLOAT16");
  opset.ceil(ids(1));
  opset.clip(ids(1), 0.25f, 0.25f);
  opset.concat(ids(1), 3);
  opset.constant(tensor());
  opset.conv(ids(2), {1, 2}, 3, {1, 2}, {1, 2}, {1, 2});
  opset.convtranspose(ids(2), {1, 2}, 3, {1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2});
  opset.depthtospace(ids(1), 3);
  opset.div(ids(2), 3, 3);
  opset.dropout(ids(1), 1, 3, 0.25f);
  opset.elu(ids(1), 0.25f);
  opset.equal(ids(2), 3, 3);
  opset.exp(ids(1));
  opset.flatten(ids(1), 3);
  opset.floor(ids(1));
  opset.gru(ids(3), 1, {1, 2}, {1, 2}, {"a", "b"}, 0.25f, "text", 3, 3, 3);
  opset.gather(ids(2), 3);
  opset.gemm(ids(3), 0.25f, 0.25f, 3, 3, 3);
  opset.globalaveragepool(ids(1));
  opset.globallppool(ids(1), 3);
  opset.globalmaxpool(ids(1));
  opset.greater(ids(2), 3, 3);
  opset.hardsigmoid(ids(1), 0.25f, 0.25f);
  opset.hardmax(ids(1), 3);
  opset.identity(ids(1));
  opset.logical_if(ids(1), 1, body, body);
  opset.instancenormalization(ids(3), 0.25f);
  opset.lrn(ids(1), 3, 0.25f, 0.25f, 0.25f);
  opset.lstm(ids(3), 1, {1, 2}, {1, 2}, {"a", "b"}, 0.25f, "text", 3, 3, 3);
  opset.leakyrelu(ids(1), 0.25f);
  opset.less(ids(2), 3, 3);
  opset.log(ids(1));
  opset.logsoftmax(ids(1), 3);
  opset.loop(ids(3), 1, body);
  opset.lpnormalization(ids(1), 3, 3);
  opset.lppool(ids(1), {1, 2}, 3, {1, 2}, {1, 2});
  opset.matmul(ids(2));
  opset.max(ids(1));
  opset.maxpool(ids(1), {1, 2}, {1, 2}, {1, 2});
  opset.maxroipool(ids(2), {1, 2}, 0.25f);
  opset.mean(ids(1));
  opset.min(ids(1));
  opset.mul(ids(2), 3, 3);
  opset.neg(ids(1));
  opset.logical_not(ids(1));
  opset.logical_or(ids(2), 3, 3);
  opset.prelu(ids(2));
  opset.pad(ids(1), {1, 2}, "text", 0.25f);
  opset.pow(ids(2), 3, 3);
  opset.rnn(ids(3), 1, {1, 2}, {1, 2}, {"a", "b"}, 0.25f, "text", 3, 3);
  opset.randomnormal({1, 2}, 3, 0.25f, 0.25f, 0.25f);
  opset.randomnormallike(ids(1), 3, 0.25f, 0.25f, 0.25f);
  opset.randomuniform({1, 2}, 3, 0.25f, 0.25f, 0.25f);
  opset.randomuniformlike(ids(1), 3, 0.25f, 0.25f, 0.25f);
  opset.reciprocal(ids(1));
  opset.reducel1(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducel2(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducelogsum(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducelogsumexp(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducemax(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducemean(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducemin(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reduceprod(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducesum(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducesumsquare(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.relu(ids(1));
  opset.reshape(ids(2));
  opset.selu(ids(1), 0.25f, 0.25f);
  opset.shape(ids(1));
  opset.sigmoid(ids(1));
  opset.size(ids(1));
  opset.slice(ids(1), {1, 2}, {1, 2}, {1, 2});
  opset.softmax(ids(1), 3);
  opset.softplus(ids(1));
  opset.softsign(ids(1));
  opset.spacetodepth(ids(1), 3);
  opset.split(ids(1), 1, 3, {1, 2});
  opset.sqrt(ids(1));
  opset.squeeze(ids(1), {1, 2});
  opset.sub(ids(2), 3, 3);
  opset.sum(ids(1));
  opset.tanh(ids(1));
  opset.tile(ids(2));
  opset.topk(ids(1), 3, 3);
  opset.transpose(ids(1), {1, 2});
  opset.unsqueeze(ids(1), {1, 2});
  opset.upsample(ids(1), 0.25f, 0.25f, "text");
  opset.logical_xor(ids(2), 3, 3);
}

void callAll(popart::AiOnnxOpset7 opset, [[maybe_unused]] const Builder& body) {
  opset.acos(ids(1));
  opset.add(ids(2));
  opset.logical_and(ids(2));
  opset.asin(ids(1));
  opset.atan(ids(1));
  opset.averagepool(ids(1), {1, 2}, 3, {1, 2}, {1, 2});
  opset.batchnormalization(ids(5), 1, 0.25f, 0.25f, 3);
  opset.cos(ids(1));
  opset.div(ids(2));
  opset.dropout(ids(1), 1, 0.25f);
  opset.equal(ids(2));
  opset.gru(ids(3), 1, {1, 2}, {1, 2}, {"a", "b"}, 0.25f, "text", 3, 3);
  opset.gemm(ids(3), 0.25f, 0.25f, 3, 3);
  opset.greater(ids(2));
  opset.lstm(ids(3), 1, {1, 2}, {1, 2}, {"a", "b"}, 0.25f, "text", 3, 3);
  opset.less(ids(2));
  opset.mul(ids(2));
  opset.multinomial(ids(1), 3, 3, 0.25f);
  opset.logical_or(ids(2));
  opset.prelu(ids(2));
  opset.pow(ids(2));
  opset.rnn(ids(3), 1, {1, 2}, {1, 2}, {"a", "b"}, 0.25f, "text", 3);
  opset.sin(ids(1));
  opset.sub(ids(2));
  opset.tan(ids(1));
  opset.upsample(ids(1), {1, 2}, "text");
  opset.logical_xor(ids(2));
}

void callAll(popart::AiOnnxOpset8 opset, [[maybe_unused]] const Builder& body) {
  opset.expand(ids(2));
  opset.max(ids(1));
  opset.maxpool(ids(1), 1, {1, 2}, {1, 2}, 3, {1, 2});
  opset.mean(ids(1));
  opset.min(ids(1));
  opset.scan(ids(2), 1, body, 3, {1, 2});
  opset.sum(ids(1));
}

void callAll(popart::AiOnnxOpset9 opset, [[maybe_unused]] const Builder& body) {
  opset.acosh(ids(1));
  opset.asinh(ids(1));
  opset.atanh(ids(1));
  opset.batchnormalization(ids(5), 1, 0.25f, 0.25f);
  opset.cast(ids(1), "FLOAT16");
  opset.compress(ids(2), 3);
  opset.constant(tensor());
  opset.constantofshape(ids(1), tensor());
  opset.cosh(ids(1));
  opset.erf(ids(1));
  opset.eyelike(ids(1), 3, 3);
  opset.flatten(ids(1), 3);
  opset.gemm(ids(3), 0.25f, 0.25f, 3, 3);
  opset.greater(ids(2));
  opset.isnan(ids(1));
  opset.less(ids(2));
  opset.matmul(ids(2));
  opset.maxunpool(ids(2), {1, 2}, {1, 2}, {1, 2});
  opset.meanvariancenormalization(ids(1), {1, 2});
  opset.nonzero(ids(1));
  opset.onehot(ids(3), 3);
  opset.prelu(ids(2));
  opset.scan(ids(1), 1, body, 3, {1, 2}, {1, 2}, {1, 2}, {1, 2});
  opset.scatter(ids(3), 3);
  opset.shrink(ids(1), 0.25f, 0.25f);
  opset.sign(ids(1));
  opset.sinh(ids(1));
  opset.tfidfvectorizer(ids(1), 3, 3, 3, "text", {1, 2}, {1, 2}, {1, 2}, {"a", "b"}, {1, 2});
  opset.upsample(ids(2), "text");
  opset.where(ids(3));
}

void callAll(popart::AiOnnxOpset10 opset, [[maybe_unused]] const Builder& body) {
  opset.averagepool(ids(1), {1, 2}, 3, 3, {1, 2}, {1, 2});
  opset.convinteger(ids(2), {1, 2}, 3, {1, 2}, {1, 2}, {1, 2});
  opset.dequantizelinear(ids(2));
  opset.dropout(ids(1), 1, 0.25f);
  opset.isinf(ids(1), 3, 3);
  opset.matmulinteger(ids(2));
  opset.maxpool(ids(1), 1, {1, 2}, 3, {1, 2}, {1, 2}, 3, {1, 2});
  opset.mod(ids(2), 3);
  opset.nonmaxsuppression(ids(2), 3);
  opset.qlinearconv(ids(8), {1, 2}, 3, {1, 2}, {1, 2}, {1, 2});
  opset.qlinearmatmul(ids(8));
  opset.quantizelinear(ids(2));
  opset.resize(ids(2), "text");
  opset.reversesequence(ids(2), 3, 3);
  opset.roialign(ids(3), "text", 3, 3, 3, 0.25f);
  opset.slice(ids(3));
  opset.stringnormalizer(ids(1), "text", 3, "text", {"a", "b"});
  opset.thresholdedrelu(ids(1), 0.25f);
  opset.topk(ids(2), 3);
  opset.upsample(ids(2), "text");
}

void callAll(popart::AiOnnxOpset11 opset, [[maybe_unused]] const Builder& body) {
  opset.argmax(ids(1), 3, 3);
  opset.argmin(ids(1), 3, 3);
  opset.averagepool(ids(1), {1, 2}, 3, 3, {1, 2}, {1, 2});
  opset.bitshift(ids(2), "text");
  opset.clip(ids(1));
  opset.compress(ids(2), 3);
  opset.concat(ids(1), 3);
  opset.concatfromsequence(ids(1), 3, 3);
  opset.constant(tensor());
  opset.conv(ids(2), {1, 2}, 3, {1, 2}, {1, 2}, {1, 2});
  opset.convtranspose(ids(2), {1, 2}, 3, {1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2});
  opset.cumsum(ids(2), 3, 3);
  opset.depthtospace(ids(1), 3, "text");
  opset.det(ids(1));
  opset.dynamicquantizelinear(ids(1));
  opset.equal(ids(2));
  opset.flatten(ids(1), 3);
  opset.gather(ids(2), 3);
  opset.gatherelements(ids(2), 3);
  opset.gathernd(ids(2));
  opset.gemm(ids(2), 0.25f, 0.25f, 3, 3);
  opset.hardmax(ids(1), 3);
  opset.logical_if(ids(1), 1, body, body);
  opset.logsoftmax(ids(1), 3);
  opset.loop(ids(2), 1, body);
  opset.lppool(ids(1), {1, 2}, 3, {1, 2}, {1, 2});
  opset.maxpool(ids(1), 1, {1, 2}, 3, {1, 2}, {1, 2}, 3, {1, 2});
  opset.maxunpool(ids(2), {1, 2}, {1, 2}, {1, 2});
  opset.nonmaxsuppression(ids(2), 3);
  opset.onehot(ids(3), 3);
  opset.pad(ids(2), "text");
  opset.range(ids(3));
  opset.reducel1(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducel2(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducelogsum(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducelogsumexp(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducemax(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducemean(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducemin(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reduceprod(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducesum(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducesumsquare(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.resize(ids(3), "text", 0.25f, 3, 0.25f, "text", "text");
  opset.round(ids(1));
  opset.scan(ids(1), 1, body, 3, {1, 2}, {1, 2}, {1, 2}, {1, 2});
  opset.scatter(ids(3), 3);
  opset.scatterelements(ids(3), 3);
  opset.scatternd(ids(3));
  opset.sequenceat(ids(2));
  opset.sequenceconstruct(ids(1));
  opset.sequenceempty(3);
  opset.sequenceerase(ids(1));
  opset.sequenceinsert(ids(2));
  opset.sequencelength(ids(1));
  opset.slice(ids(3));
  opset.softmax(ids(1), 3);
  opset.split(ids(1), 1, 3, {1, 2});
  opset.splittosequence(ids(1), 3, 3);
  opset.squeeze(ids(1), {1, 2});
  opset.topk(ids(2), 3, 3, 3);
  opset.unique(ids(1), 1, 3, 3);
  opset.unsqueeze(ids(1), {1, 2});
}

void callAll(popart::AiOnnxOpset12 opset, [[maybe_unused]] const Builder& body) {
  opset.argmax(ids(1), 3, 3, 3);
  opset.argmin(ids(1), 3, 3, 3);
  opset.celu(ids(1), 0.25f);
  opset.clip(ids(1));
  opset.constant(tensor());
  opset.dropout(ids(1), 1, 3);
  opset.einsum(ids(1), "text");
  opset.gathernd(ids(2), 3);
  opset.greaterorequal(ids(2));
  opset.lessorequal(ids(2));
  opset.max(ids(1));
  opset.maxpool(ids(1), 1, {1, 2}, 3, {1, 2}, {1, 2}, 3, {1, 2});
  opset.min(ids(1));
  opset.negativeloglikelihoodloss(ids(2), 3, "text");
  opset.pow(ids(2));
  opset.reducemax(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducemin(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.softmaxcrossentropyloss(ids(2), 1, 3, "text");
}

void callAll(popart::AiOnnxOpset13 opset, [[maybe_unused]] const Builder& body) {
  opset.abs(ids(1));
  opset.add(ids(2));
  opset.argmax(ids(1), 3, 3, 3);
  opset.argmin(ids(1), 3, 3, 3);
  opset.cast(ids(1), "FLOAT16");
  opset.ceil(ids(1));
  opset.clip(ids(1));
  opset.concat(ids(1), 3);
  opset.constant(tensor());
  opset.depthtospace(ids(1), 3, "text");
  opset.dequantizelinear(ids(2), 3);
  opset.div(ids(2));
  opset.dropout(ids(1), 1, 3);
  opset.equal(ids(2));
  opset.erf(ids(1));
  opset.exp(ids(1));
  opset.expand(ids(2));
  opset.flatten(ids(1), 3);
  opset.floor(ids(1));
  opset.gather(ids(2), 3);
  opset.gatherelements(ids(2), 3);
  opset.gathernd(ids(2), 3);
  opset.gemm(ids(2), 0.25f, 0.25f, 3, 3);
  opset.greater(ids(2));
  opset.hardmax(ids(1), 3);
  opset.identity(ids(1));
  opset.logical_if(ids(1), 1, body, body);
  opset.isnan(ids(1));
  opset.lrn(ids(1), 3, 0.25f, 0.25f, 0.25f);
  opset.less(ids(2));
  opset.log(ids(1));
  opset.logsoftmax(ids(1), 3);
  opset.loop(ids(2), 1, body);
  opset.matmul(ids(2));
  opset.max(ids(1));
  opset.mean(ids(1));
  opset.meanvariancenormalization(ids(1), {1, 2});
  opset.min(ids(1));
  opset.mod(ids(2), 3);
  opset.mul(ids(2));
  opset.neg(ids(1));
  opset.negativeloglikelihoodloss(ids(2), 3, "text");
  opset.nonzero(ids(1));
  opset.pad(ids(2), "text");
  opset.pow(ids(2));
  opset.quantizelinear(ids(2), 3);
  opset.reciprocal(ids(1));
  opset.reducel1(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducel2(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducelogsum(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducelogsumexp(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducemax(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducemean(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducemin(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reduceprod(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.reducesum(ids(1), 3, 3);
  opset.reducesumsquare(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.relu(ids(1));
  opset.reshape(ids(2));
  opset.resize(ids(1), "text", 0.25f, 3, 0.25f, "text", "text");
  opset.scatterelements(ids(3), 3);
  opset.scatternd(ids(3));
  opset.shape(ids(1));
  opset.sigmoid(ids(1));
  opset.sign(ids(1));
  opset.size(ids(1));
  opset.slice(ids(3));
  opset.softmax(ids(1), 3);
  opset.softmaxcrossentropyloss(ids(2), 1, 3, "text");
  opset.spacetodepth(ids(1), 3);
  opset.split(ids(1), 1, 3);
  opset.sqrt(ids(1));
  opset.squeeze(ids(1));
  opset.sub(ids(2));
  opset.sum(ids(1));
  opset.tanh(ids(1));
  opset.tile(ids(2));
  opset.transpose(ids(1), {1, 2});
  opset.unsqueeze(ids(2));
}

void callAll(popart::AiOnnxOpset14 opset, [[maybe_unused]] const Builder& body) {
  opset.add(ids(2));
  opset.batchnormalization(ids(5), 1, 0.25f, 0.25f, 3);
  opset.cumsum(ids(2), 3, 3);
  opset.div(ids(2));
  opset.gru(ids(3), 1, {1, 2}, {1, 2}, {"a", "b"}, 0.25f, "text", 3, 3, 3);
  opset.hardswish(ids(1));
  opset.identity(ids(1));
  opset.lstm(ids(3), 1, {1, 2}, {1, 2}, {"a", "b"}, 0.25f, "text", 3, 3, 3);
  opset.mul(ids(2));
  opset.rnn(ids(3), 1, {1, 2}, {1, 2}, {"a", "b"}, 0.25f, "text", 3, 3);
  opset.relu(ids(1));
  opset.reshape(ids(2), 3);
  opset.sub(ids(2));
  opset.trilu(ids(1), 3);
}

void callAll(popart::AiOnnxOpset15 opset, [[maybe_unused]] const Builder& body) {
  opset.batchnormalization(ids(5), 1, 0.25f, 0.25f, 3);
  opset.bernoulli(ids(1), 3, 0.25f);
  opset.castlike(ids(2));
  opset.optional(ids(0));
  opset.optionalgetelement(ids(1));
  opset.optionalhaselement(ids(1));
  opset.pow(ids(2));
  opset.shape(ids(1), 3, 3);
}

void callAll(popart::AiOnnxOpset16 opset, [[maybe_unused]] const Builder& body) {
  opset.greaterorequal(ids(2));
  opset.gridsample(ids(2), 3, "text", "text");
  opset.identity(ids(1));
  opset.logical_if(ids(1), 1, body, body);
  opset.leakyrelu(ids(1), 0.25f);
  opset.lessorequal(ids(2));
  opset.loop(ids(2), 1, body);
  opset.prelu(ids(2));
  opset.roialign(ids(3), "text", "text", 3, 3, 3, 0.25f);
  opset.scan(ids(1), 1, body, 3, {1, 2}, {1, 2}, {1, 2}, {1, 2});
  opset.scatterelements(ids(3), 3, "text");
  opset.scatternd(ids(3), "text");
  opset.where(ids(3));
}

void callAll(popart::AiOnnxOpset17 opset, [[maybe_unused]] const Builder& body) {
  opset.blackmanwindow(ids(1), 3, 3);
  opset.dft(ids(1), 3, 3, 3);
  opset.hammingwindow(ids(1), 3, 3);
  opset.hannwindow(ids(1), 3, 3);
  opset.layernormalization(ids(2), 1, 3, 0.25f, 3);
  opset.melweightmatrix(ids(5), 3);
  opset.stft(ids(2), 3);
  opset.sequencemap(ids(1), 1, body);
}

void callAll(popart::AiGraphcoreOpset1 opset, [[maybe_unused]] const Builder& body) {
  opset.batchnormalization(ids(5), 1, 0.25f, 0.25f);
  opset.groupnormalization(ids(3), 3, 0.25f);
  opset.subsample(ids(1), {1, 2});
  opset.nop(ids(1));
  opset.normalize_image(ids(3), 0.25f);
  opset.scale(ids(1), 0.25f);
  opset.scaledadd(ids(2), 0.25f, 0.25f);
  opset.lstm(ids(2), 3);
  opset.gelu(ids(1));
  opset.geluerf(ids(1));
  opset.detach(ids(1));
  opset.depthtospace(ids(1), 3, "text");
  opset.round(ids(1));
  opset.dynamicslice(ids(2), {1, 2}, {1, 2}, 3);
  opset.dynamicupdate(ids(3), {1, 2}, {1, 2}, 3);
  opset.dynamiczero(ids(2), {1, 2}, {1, 2});
  opset.dynamicadd(ids(3), {1, 2}, {1, 2});
  opset.sequenceslice(ids(5), 3);
  opset.call(ids(1), 1, body);
  opset.tensorremap(ids(1), 3);
  opset.ctcbeamsearchdecoder(ids(2), 3, 3, 3);
  opset.shapeddropout(ids(1), {1, 2}, 0.25f);
  opset.atan2(ids(2));
  opset.expm1(ids(1));
  opset.log1p(ids(1));
  opset.fmod(ids(2));
  opset.remainder(ids(2));
  opset.reverse(ids(1), {1, 2});
  opset.slice(ids(1), {1, 2}, {1, 2}, {1, 2});
  opset.packedDataBlock(ids(5), {1, 2}, 3, 3, body);
  opset.bitwisenot(ids(1));
  opset.bitwiseand(ids(2));
  opset.bitwiseor(ids(2));
  opset.bitwisexor(ids(2));
  opset.bitwisexnor(ids(2));
  opset.reducemedian(ids(1), std::vector<int64_t>{1, 2}, 3);
  opset.groupedgather(ids(2), 3, 3);
  opset.swish(ids(1));
  opset.incrementmod(ids(1), 0.25f, 0.25f);
  opset.bucketize(ids(2), 3);
  opset.sort(ids(1), 3, 3, 3);
  opset.nearbyint(ids(1));
  opset.splinebasis(ids(3), 3);
  opset.splineweighting(ids(4));
}

}  // namespace

void callEvery(Builder& builder, const Builder& body, int opset) {
  if (opset == 6) callAll(builder.aiOnnxOpset6(), body);
  if (opset == 7) callAll(builder.aiOnnxOpset7(), body);
  if (opset == 8) callAll(builder.aiOnnxOpset8(), body);
  if (opset == 9) callAll(builder.aiOnnxOpset9(), body);
  if (opset == 10) callAll(builder.aiOnnxOpset10(), body);
  if (opset == 11) callAll(builder.aiOnnxOpset11(), body);
  if (opset == 12) callAll(builder.aiOnnxOpset12(), body);
  if (opset == 13) callAll(builder.aiOnnxOpset13(), body);
  if (opset == 14) callAll(builder.aiOnnxOpset14(), body);
  if (opset == 15) callAll(builder.aiOnnxOpset15(), body);
  if (opset == 16) callAll(builder.aiOnnxOpset16(), body);
  if (opset == 17) callAll(builder.aiOnnxOpset17(), body);
  if (opset == 0) callAll(builder.aiGraphcoreOpset1(), body);
}

}  // namespace test
