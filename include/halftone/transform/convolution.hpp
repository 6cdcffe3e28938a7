#pragma once

#include <cstdint>

namespace halftone {

/// These forms of 3 x 3 and 5 x 5 convolutions of floats may be chosen where strides and dilations are 1, in
/// training and for gradients, too. Others are direct sums over channels and taps.
///
/// The largest errors of 3 x 3 that were found with 64 to 512 channels, in units in the last place of the
/// largest element of the convolution of the absolute values; `signs` are those that make Winograd's
/// intermediate values as large as can be:
///
///                                     exact   fast   fastest
///   uniform, normal, rectified          3.4    1.1       6.3
///   positive, constant                  453      5         5
///   of many magnitudes                   37      3        14
///   signs, other numbers everywhere      40      8        98
///   signs, the same number everywhere   620     10       173
///
/// F(2x2, 5x5) has errors of 4.5 at most on all of them, the direct sum of 5 x 5 taps of 1360. Gradients of
/// weights, which are sums over pixels, of up to two images of 28 x 28: F(2x2) 4 at most, 13 of constants
/// (exact 32, 276), F(4x4, 3x3) 13.
///
/// source  Lavin and Gray 2015, arXiv:1509.09308; the points of F(4x4, 3x3) are those of Barabasz and
///         others 2018, arXiv:1803.10986
enum class Convolution : std::uint8_t {
  exact,  ///< direct sums alone
  fast,   ///< also F(2x2, 3x3), with 16 products instead of 36, and F(2x2, 5x5), 49 instead of 100
  fastest,  ///< also F(4x4, 3x3), with 36 products instead of 144
};

}  // namespace halftone
