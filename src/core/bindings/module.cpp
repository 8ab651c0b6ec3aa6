// The module hardwood._core: Python decides, the core computes.
#include "bindings/bind.h"

NB_MODULE(_core, m)
{
    // What a user still holds when Python ends is not a leak of ours; nothing is written to their screen about it.
    nanobind::set_leak_warnings(false);
    m.doc() = "The compiled core of hardwood: arrays in, arrays out.";
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
