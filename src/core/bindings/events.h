// Events at the boundary: numbers of 32 bits, which the core sees as what they are.
#pragma once

#include "bindings/arrays.h"
#include "ranks/ranks.h"

namespace hardwood
{
static_assert(sizeof(Event) == sizeof(std::uint32_t) && std::is_trivially_copyable_v<Event>);
static_assert(sizeof(FiniteEvents) == 2 * sizeof(Index) && std::is_trivially_copyable_v<FiniteEvents>);

inline Grid<Event const> eventsIn(In<std::uint32_t, 2> const &array)
{
    return Grid<Event const>(reinterpret_cast<Event const *>(array.data()), static_cast<Index>(array.shape(0)),
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

// The events of all features, which were checked once and stay as they are, for any number of trees.
class EventLists
{
    In<std::uint32_t, 2> events_;
    In<Index, 2> finite_;
    In<Index, 1> label_;

public:
    EventLists(In<std::uint32_t, 2> events, In<Index, 2> finite, In<Index, 1> label)
        : events_(std::move(events)), finite_(std::move(finite)), label_(std::move(label))
    {
        static_cast<void>(finiteIn(finite_, eventsIn(events_)));
        require(this->events().rows() >= 1, "there must be a feature");
        require(this->events().columns() == 3 * this->label().size(), "events must be of shape (n_features, 3 n)");
        require(areEventsOf(this->events(), this->label()),
                "events must be the lower end, the value and the upper end of every sample, in this order, with its "
                "class");
    }

    [[nodiscard]] Grid<Event const> events() const { return eventsIn(events_); }
    [[nodiscard]] Span<FiniteEvents const> finite() const
    {
        return Span<FiniteEvents const>(reinterpret_cast<FiniteEvents const *>(finite_.data()), events().rows());
    }
    [[nodiscard]] Span<Index const> label() const { return spanOf(label_); }
};

// The events of these boxes.
inline Grid<Event const> eventsOf(EventLists const &lists, BoxesAround const &boxes)
{
    require(lists.events().rows() == boxes.features() && lists.label().size() == boxes.samples(),
            "events must be those of the boxes");
    return lists.events();
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
