#include <halftone/op/list.hpp>

namespace halftone {

// The one instantiation of every operator's descriptor; programs refer to these.
#define HALFTONE_INSTANTIATE(Struct, function) template const Descriptor descriptor<op::Struct>;
#define HALFTONE_INSTANTIATE_OLD(Struct) template const Descriptor descriptor<op::Struct>;
HALFTONE_OPERATORS(HALFTONE_INSTANTIATE, HALFTONE_INSTANTIATE_OLD)
#undef HALFTONE_INSTANTIATE
#undef HALFTONE_INSTANTIATE_OLD

}  // namespace halftone
