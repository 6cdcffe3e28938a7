#include <halftone/op/list.hpp>

namespace halftone {

namespace detail {

template <class Op>
const Descriptor* library_descriptor() {
  return &descriptor<Op>;
}

}  // namespace detail

// The one instantiation of every operator's descriptor; programs refer to these.
#define HALFTONE_INSTANTIATE(Struct, function)      \
  template const Descriptor descriptor<op::Struct>; \
  template const Descriptor* detail::library_descriptor<op::Struct>();
#define HALFTONE_INSTANTIATE_OLD(Struct) HALFTONE_INSTANTIATE(Struct, )
HALFTONE_OPERATORS(HALFTONE_INSTANTIATE, HALFTONE_INSTANTIATE_OLD)
#undef HALFTONE_INSTANTIATE
#undef HALFTONE_INSTANTIATE_OLD

}  // namespace halftone
