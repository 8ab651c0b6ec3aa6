// Control for Python.
#include "control.h"

#include "bindings/bind.h"

#include <nanobind/stl/optional.h>

#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

namespace hardwood
{
namespace
{
double secondsOf(std::optional<double> seconds)
{
    if (!seconds)
        return std::numeric_limits<double>::infinity();
    if (std::isnan(*seconds))
        throw nb::value_error("a number of seconds must not be NaN");
    return *seconds;
}
}  // namespace

bool signalRaised()
{
    nb::gil_scoped_acquire gil;
    return PyErr_Occurred() != nullptr || PyErr_CheckSignals() != 0;
}

void bindControl(nb::module_ &m)
{
    nb::class_<Control>(m, "Control",
                        "How a long computation is stopped: by `request_stop()` from any thread, or by its deadline.")
        .def(
            "__init__",
            [](Control *self, std::optional<double> seconds, bool cpu)
            {
                new (self) Control();
                self->setTimeLeft(secondsOf(seconds), cpu);
                self->setPoll(signalRaised);
            },
            nb::arg("time_left").none() = nb::none(), nb::arg("cpu") = false)
        .def(
            "set_time_left",
            [](Control &self, std::optional<double> seconds, bool cpu) { self.setTimeLeft(secondsOf(seconds), cpu); },
            nb::arg("seconds").none(), nb::arg("cpu") = false,
            "Let the run end in so many seconds from now, of CPU time of the process if asked; None for never.")
        .def_prop_ro("time_left", &Control::timeLeft,
                     "Seconds until the deadline, of CPU time where that counts; infinite without one.")
        .def("request_stop", &Control::requestStop, "Ask the computation to end at its next look.")
        .def_prop_ro(
            "stopped", [](Control &self) { return self.shouldStop(); },
            "Whether somebody asked for an end or the deadline has passed.");
}
}  // namespace hardwood
