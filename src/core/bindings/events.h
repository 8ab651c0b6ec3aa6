// Events at the boundary: pairs of int32, code and rank, which the core sees as what they are.
#pragma once

#include "bindings/arrays.h"
#include "greedy/impurity.h"

namespace hardwood
{
static_assert(sizeof(Event) == 2 * sizeof(std::int32_t) && std::is_trivially_copyable_v<Event>);

// Events that the core may read, or, from a writable array, reorder.
template <class Array>
auto eventsIn(Array const &array)
{
    using Entry =
        std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(array.data())>>, Event const, Event>;
    require(array.shape(2) == 2 && array.shape(1) % 3 == 0, "events must be of shape (n_features, 3 n, 2)");
    return Grid<Entry>(reinterpret_cast<Entry *>(array.data()), static_cast<Index>(array.shape(0)),
                       static_cast<Index>(array.shape(1)));
}

inline auto handOverEvents(Array<Event> &&events, Index rows, Index columns)
{
    auto owned = std::make_unique<Array<Event>>(std::move(events));
    auto *data = reinterpret_cast<std::int32_t *>(owned->data());
    nb::capsule owner(owned.get(), [](void *p) noexcept { delete static_cast<Array<Event> *>(p); });
    static_cast<void>(owned.release());  // the capsule owns it now
    return nb::ndarray<nb::numpy, std::int32_t, nb::ndim<3>>(
        data, {static_cast<std::size_t>(rows), static_cast<std::size_t>(columns), 2}, owner);
}

// Whether an event names one of n samples and a kind that there is.
inline bool isEventOf(Event event, Index n)
{
    return event.code >= 0 && event.sample() < n && event.kind() <= Event::upper;
}
}  // namespace hardwood
