// Events at the boundary: numbers of 32 bits, which the core sees as what they are.
#pragma once

#include "bindings/arrays.h"
#include "greedy/impurity.h"

namespace hardwood
{
static_assert(sizeof(Event) == sizeof(std::uint32_t) && std::is_trivially_copyable_v<Event>);
static_assert(sizeof(FiniteEvents) == 2 * sizeof(Index) && std::is_trivially_copyable_v<FiniteEvents>);

// Events that the core may read, or, from a writable array, reorder.
template <class Array>
auto eventsIn(Array const &array)
{
    using Entry =
        std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(array.data())>>, Event const, Event>;
    require(array.shape(1) % 3 == 0, "events must be of shape (n_features, 3 n)");
    return Grid<Entry>(reinterpret_cast<Entry *>(array.data()), static_cast<Index>(array.shape(0)),
                       static_cast<Index>(array.shape(1)));
}

// Which of the events of each feature are finite: rows of first and end.
inline Span<FiniteEvents const> finiteIn(In<Index, 2> const &array, Grid<Event const> events)
{
    require(array.shape(1) == 2 && static_cast<Index>(array.shape(0)) == events.rows(),
            "finite must be of shape (n_features, 2)");
    Span<FiniteEvents const> finite(reinterpret_cast<FiniteEvents const *>(array.data()), events.rows());
    for (auto const &[first, end] : finite)
        require(0 <= first && first <= end && end <= events.columns(), "finite names events that are not there");
    return finite;
}

inline auto handOverEvents(Array<Event> &&events, Index rows, Index columns)
{
    auto owned = std::make_unique<Array<Event>>(std::move(events));
    auto *data = reinterpret_cast<std::uint32_t *>(owned->data());
    nb::capsule owner(owned.get(), [](void *p) noexcept { delete static_cast<Array<Event> *>(p); });
    static_cast<void>(owned.release());  // the capsule owns it now
    return nb::ndarray<nb::numpy, std::uint32_t, nb::ndim<2>>(
        data, {static_cast<std::size_t>(rows), static_cast<std::size_t>(columns)}, owner);
}

inline auto handOverFinite(Array<FiniteEvents> const &finite)
{
    auto rows = Array<Index>::unwritten(2 * finite.size());
    for (Index j = 0; j != finite.size(); ++j)
    {
        rows[2 * j] = finite[j].first;
        rows[2 * j + 1] = finite[j].end;
    }
    return handOver(std::move(rows), finite.size(), 2);
}
}  // namespace hardwood
