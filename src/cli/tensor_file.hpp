#pragma once

#include <string>
#include <string_view>

#include <halftone/base/array.hpp>

namespace halftone::cli {

/// Files that hold one tensor, or another value of ONNX's.
///
///   pb    ONNX's TensorProto, binary; SequenceProto, OptionalProto or MapProto for other values
///   npy   NumPy's format, versions 1 to 3, either byte order; bfloat16 and float8 have no type
///   there text  the element type and the extents in one line, then the elements in row-major order
///   with
///         blanks and line ends between them as one likes; '#' begins a comment:
///
///             float 2 3        # a type alone is a scalar
///             1 2.5 -3
///             nan inf 4e-3
///
///         Elements of type bool are 0 and 1 (or false and true). Texts may be in quotation marks,
///         where \n, \t, \xNN, \" and \ stand for characters. Other values have their type and the
///         number of their items, then each item like a tensor; maps all keys, then all values:
///
///             seq(tensor(float)) 2
///             float 2
///             1 2
///             float 1
///             3
///
/// Files of MNIST's format IDX, whose names end in `-ubyte` or `.idx`, are read, too.
enum class TensorFormat { pb, npy, text };

/// "output_0.npy" is npy, "x.txt" is text, anything else is pb.
TensorFormat format_of(std::string_view path);
/// "pb", "npy", "txt".
std::string_view extension(TensorFormat format);

/// Throws IoError if the file cannot be read, InputError if it is not what its name says.
/// `type` says what a pb file holds if it is no tensor.
AnyArray read_tensor(const std::string& path, ElementType type = ElementType::undefined);
/// Throws IoError; UnsupportedError if the format has no such element type. pb files get the name.
void write_tensor(const std::string& path, TensorFormat format, std::string_view name,
                  AnyView tensor);

/// The file's contents without and with the file, for read_tensor() and write_tensor(). `path` is
/// for messages.
AnyArray parse_npy(std::string_view bytes, const std::string& path);
std::string format_npy(AnyView tensor);
AnyArray parse_idx(std::string_view bytes, const std::string& path);
AnyArray parse_text(std::string_view text, const std::string& path);
std::string format_text(AnyView tensor);

}  // namespace halftone::cli
