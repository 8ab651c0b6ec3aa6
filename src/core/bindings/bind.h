// One function per family of the core; each adds what Python may call of it to the module.
#pragma once

#include "bindings/arrays.h"
#include "control.h"

namespace hardwood
{
void bindControl(nb::module_ &m);
void bindWalk(nb::module_ &m);
void bindRanks(nb::module_ &m);
void bindPlacing(nb::module_ &m);
void bindGreedy(nb::module_ &m);
void bindTreant(nb::module_ &m);
void bindFlow(nb::module_ &m);
void bindConflicts(nb::module_ &m);
void bindRelabel(nb::module_ &m);
void bindSearch(nb::module_ &m);
void bindSearchProblem(nb::module_ &m);
void bindEnsembleScores(nb::module_ &m);
void bindBoosting(nb::module_ &m);
void bindPriced(nb::module_ &m);

// Whether Python has a signal to handle; the exception that its handler raised stays set until the call returns.
bool signalRaised();

// The Control of a call that ends only with its answer or with a signal: Ctrl-C stops it, nothing else does.
class Interruptible : public Control
{
public:
    Interruptible() { setPoll(signalRaised); }
};

// Raise the exception that a signal handler left behind while the core ran without the interpreter's lock.
inline void raisePending()
{
    if (PyErr_Occurred() != nullptr)
        throw nb::python_error();
}
}  // namespace hardwood
