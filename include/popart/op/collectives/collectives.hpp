#pragma once

namespace popart {

/// How replicas' elements become one.
enum class CollectiveOperator {
  Add = 0,
  Mean,
  Mul,
  Min,
  Max,
  LogicalAnd,
  LogicalOr,
  SquareAdd,
  Local,
  N,
};

}  // namespace popart
