// One function per family of the core; each adds what Python may call of it to the module.
#pragma once

#include "bindings/arrays.h"

namespace hardwood
{
void bindControl(nb::module_ &m);

// Raise the exception that a signal handler left behind while the core ran without the interpreter's lock.
inline void raisePending()
{
    if (PyErr_Occurred() != nullptr)
        throw nb::python_error();
}
}  // namespace hardwood
