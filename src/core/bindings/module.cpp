// The module hardwood._core: Python decides, the core computes.
#include "bindings/bind.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace
{
// What was freed is mostly kept for the next who asks, in pieces that are too small for a large table.
void returnFreeMemory()
{
#if defined(__GLIBC__)
    nanobind::gil_scoped_release const unlocked;
    malloc_trim(0);
#endif
}
}  // namespace

NB_MODULE(_core, m)
{
    // What a user still holds when Python ends is not a leak of ours; nothing is written to their screen about it.
    nanobind::set_leak_warnings(false);
    m.doc() = "The compiled core of hardwood: arrays in, arrays out.";
    m.def("return_free_memory", returnFreeMemory, "Give the system back what was freed, where that can be asked for.");
    hardwood::bindControl(m);
    hardwood::bindWalk(m);
    hardwood::bindFlow(m);
    hardwood::bindConflicts(m);
    hardwood::bindRelabel(m);
    hardwood::bindSearch(m);
    hardwood::bindEnsembleScores(m);
    hardwood::bindRanks(m);
    hardwood::bindPlacing(m);
    hardwood::bindPriced(m);
    hardwood::bindGreedy(m);
    hardwood::bindTreant(m);
    hardwood::bindBoosting(m);
}
