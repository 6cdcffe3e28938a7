#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <halftone/transform/passes.hpp>

#include "transform/infer_from_inputs.hpp"

namespace halftone {

namespace pass {
Graph constants(Graph graph, const PassOptions& options);
Graph copy_given(Graph graph, const PassOptions& options);
Graph random_seeds(Graph graph, const PassOptions& options);
Graph infer(Graph graph, const PassOptions& options);
Graph tabulate_bytes(Graph graph, const PassOptions& options);
Graph keep_gates(Graph graph, const PassOptions& options);
Graph fuse_gelu(Graph graph, const PassOptions& options);
Graph crop_kernels(Graph graph, const PassOptions& options);
Graph fold_normalizations(Graph graph, const PassOptions& options);
Graph fuse_trained_attention(Graph graph, const PassOptions& options);
Graph recompute_elementwise(Graph graph, const PassOptions& options);
Graph fuse_attention(Graph graph, const PassOptions& options);
Graph fold_transposes(Graph graph, const PassOptions& options);
Graph fuse_convolutions(Graph graph, const PassOptions& options);
Graph fuse_quantized(Graph graph, const PassOptions& options);
Graph block_channels(Graph graph, const PassOptions& options);
Graph fuse_normalizations(Graph graph, const PassOptions& options);
Graph choose_convolutions(Graph graph, const PassOptions& options);
Graph pair_channels(Graph graph, const PassOptions& options);
Graph join_updates(Graph graph, const PassOptions& options);
Graph fuse_products(Graph graph, const PassOptions& options);
Graph round_rows(Graph graph, const PassOptions& options);
Graph batch_parts(Graph graph, const PassOptions& options);
Graph fuse_elementwise(Graph graph, const PassOptions& options);
Graph defer(Graph graph, const PassOptions& options);
}  // namespace pass

/// For cpu: until all shapes are known that do not depend on values, bodies included.
inline constexpr Pass cpu_shape_passes[] = {
    {"copy_given", &pass::copy_given},
    {"constants", &pass::constants},
    {"random_seeds", &pass::random_seeds},
    {"infer", &pass::infer},
    // It comes before what divides a training: where values are kept must not choose its operators.
    {"fuse_trained_attention", &pass::fuse_trained_attention, &PassOptions::fuse},
    {"recompute", &pass::recompute},
    {"recompute_elementwise", &pass::recompute_elementwise, &PassOptions::fuse},
};
/// For cpu: what can be planned, and each body in it by itself. What chooses kernels comes first, and
/// looks at all of a graph, also where it is cut afterwards: others would have other results.
inline constexpr Pass cpu_choice_passes[] = {
    {"tabulate_bytes", &pass::tabulate_bytes, &PassOptions::fuse},
    {"keep_gates", &pass::keep_gates, &PassOptions::fuse},
    {"fuse_gelu", &pass::fuse_gelu, &PassOptions::fuse},
    {"dead_code", &pass::dead_code},
    {"crop_kernels", &pass::crop_kernels, &PassOptions::change_weights},
    {"fold_normalizations", &pass::fold_normalizations, &PassOptions::change_weights},
    {"fuse_attention", &pass::fuse_attention, &PassOptions::fuse},
    {"fold_transposes", &pass::fold_transposes, &PassOptions::fuse},
    {"fuse_convolutions", &pass::fuse_convolutions, &PassOptions::fuse},
    {"fuse_quantized", &pass::fuse_quantized, &PassOptions::fuse},
    {"block_channels", &pass::block_channels, &PassOptions::fuse},
    {"fuse_normalizations", &pass::fuse_normalizations, &PassOptions::fuse},
    {"choose_convolutions", &pass::choose_convolutions, &PassOptions::fuse},
    {"pair_channels", &pass::pair_channels, &PassOptions::fuse},
};
inline constexpr Pass cpu_piece_passes[] = {
    {"join_updates", &pass::join_updates, &PassOptions::fuse},
    {"fuse_products", &pass::fuse_products, &PassOptions::fuse},
    {"round_rows", &pass::round_rows, &PassOptions::fuse},
    {"batch_parts", &pass::batch_parts, &PassOptions::fuse},
    {"fuse_elementwise", &pass::fuse_elementwise, &PassOptions::fuse},
    {"schedule", &pass::schedule, &PassOptions::reorder},
};
/// For cpu: a graph with late nodes, before its parts are planned.
inline constexpr Pass cpu_late_passes[] = {
    {"defer", &pass::defer},
};

/// The names of a target's passes in their order; none for an unknown target.
std::span<const std::string_view> pass_names(std::string_view target);

/// Runs passes in their order and tells the observer. HALFTONE_DUMP=NAME,... (or `all`) writes the
/// graph after each of these passes as text and DOT into the folder halftone-dump; NAME `program`
/// what is made of it in the end.
Graph run_passes(std::span<const Pass> passes, Graph graph, const PassOptions& options);

/// Writes the text of a program there if HALFTONE_DUMP asks for it.
void dump_program(std::string_view target, const std::function<std::string()>& text);

}  // namespace halftone
