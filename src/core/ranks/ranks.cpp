#include "ranks/ranks.h"

#include <array>
#include <cmath>

#include "sorting.h"

namespace hardwood
{
namespace
{
constexpr double infinity = std::numeric_limits<double>::infinity();

// An end in the merged list.
struct End
{
    double number;
    std::int32_t sample;
    Event::Kind kind;
};

// Gives ranks to ends that come in increasing order, by the rule in the header.
class Clustering
{
    Span<double const> value_;
    Rounding rounding_;
    double largest_ = 0.0;  // of the values, without their signs
    End previous_{-infinity, 0, Event::lower};
    std::int32_t rank_ = -1;
    bool isNew_ = false;

    [[nodiscard]] double noiseOf(End end) const
    {
        constexpr double largest = std::numeric_limits<double>::max();
        auto const x = value_[end.sample];
        return noise(x, std::min(std::abs(end.number - x), largest), rounding_);
    }

    // Whether two neighbours are one although they differ. Hardly any are, so what tells most apart is asked first.
    [[nodiscard]] bool isOneWith(End end) const
    {
        auto const gap = end.number - previous_.number;
        if (!mayBeNear(gap, end) || !(gap < infinity))
            return false;
        // Only an upper end below a lower end is worth a threshold; a value is both.
        bool const isSeparable = previous_.kind != Event::lower && end.kind != Event::upper;
        return !isSeparable && gap <= 2 * (noiseOf(previous_) + noiseOf(end));
    }

    // Far cheaper than the noise, and generous: twice the noises of two ends is less than this.
    [[nodiscard]] bool mayBeNear(double gap, End end) const
    {
        constexpr double unit = std::numeric_limits<double>::epsilon();
        auto const size = 4 * largest_ + std::abs(end.number) + std::abs(previous_.number);
        return gap <= (4e-9 + 32 * unit * rounding_.relative) * size + 32 * rounding_.least;
    }

public:
    Clustering(Span<double const> value, Rounding rounding) : value_(value), rounding_(rounding)
    {
        for (double const x : value)
            largest_ = std::max(largest_, std::abs(x));
    }

    // The rank of the next end.
    std::int32_t rank(End end)
    {
        isNew_ = end.number != previous_.number && !isOneWith(end);
        rank_ += isNew_ ? 1 : 0;
        previous_ = end;
        return rank_;
    }

    // Whether the last end began a rank.
    [[nodiscard]] bool isNew() const { return isNew_; }

    // How many ranks are finite, after the last end.
    [[nodiscard]] Index nRanks() const { return previous_.number == infinity ? rank_ : rank_ + 1; }
};

// The ends of one feature after another, sorted and merged; `columns` kinds of them.
template <std::size_t columns>
class MergedColumns
{
    std::array<Event::Kind, columns> kinds_;
    std::array<Array<Keyed>, columns> sorted_;  // each with an entry beyond all keys at its end
    Array<Keyed> leading_;                      // the values
    Array<double> value_;
    Array<double> column_;  // a copy in one piece: rows are far apart, and it is read in any order
    NumberSorter sorter_;

    // A column in the order of the values; where that does not sort it, it is sorted.
    void sortColumn(Grid<double const> ends, Index feature, Array<Keyed> &sorted)
    {
        Index const n = ends.rows();
        for (Index i = 0; i != n; ++i)
            column_[i] = ends(i, feature);
        bool isSorted = true;
        std::uint64_t before = 0;
        for (Index k = 0; k != n; ++k)
        {
            auto const place = leading_[k].place;
            auto const key = keyOf(column_[place]);
            isSorted = isSorted && before <= key;
            before = key;
            sorted[k] = {key, place};
        }
        sorted[n] = {beyondAllKeys, 0};
        if (isSorted)
            return;
        // Equal ends stay in the order of their values: for the sorter that is their place.
        for (Index k = 0; k != n; ++k)
            sorted[k].place = static_cast<std::int32_t>(k);
        sorter_.sort(sorted.view().part(0, n));
        for (Index k = 0; k != n; ++k)
            sorted[k].place = leading_[sorted[k].place].place;
    }

public:
    MergedColumns(std::array<Event::Kind, columns> kinds, Index n)
        : kinds_(kinds),
          leading_(Array<Keyed>::unwritten(n)),
          value_(Array<double>::unwritten(n)),
          column_(Array<double>::unwritten(n)),
          sorter_(n)
    {
        for (auto &column : sorted_)
            column = Array<Keyed>::unwritten(n + 1);
    }

    // The values of the feature that was sorted.
    [[nodiscard]] Span<double const> value() const { return value_.view(); }

    // Sort the columns of a feature. False where the Control stopped it.
    bool sort(Grid<double const> value, std::array<Grid<double const>, columns> const &ends, Index feature,
              Control &control)
    {
        for (Index i = 0; i != value.rows(); ++i)
        {
            value_[i] = value(i, feature);
            leading_[i] = {keyOf(value_[i]), static_cast<std::int32_t>(i)};
        }
        sorter_.sort(leading_.view());
        for (std::size_t c = 0; c != columns; ++c)
        {
            if (control.shouldStopOrPoll())
                return false;
            sortColumn(ends[c], feature, sorted_[c]);
        }
        return true;
    }

    // Tell `take(k, end)` of all ends of the feature that was sorted, the smallest first.
    template <class Take>
    void merge(Take take) const
    {
        std::array<Span<Keyed const>, columns> rest;
        for (std::size_t c = 0; c != columns; ++c)
            rest[c] = sorted_[c].view();
        auto const all = static_cast<Index>(columns) * leading_.size();
        for (Index k = 0; k != all; ++k)
        {
            std::size_t next = 0;
            for (std::size_t c = 1; c != columns; ++c)
                next = rest[c][0].key < rest[next][0].key ? c : next;
            Keyed const head = rest[next][0];
            rest[next] = rest[next].part(1, rest[next].size() - 1);
            take(k, End{numberOf(head.key), head.place, kinds_[next]});
        }
    }
};
}  // namespace

std::optional<RankedEnds> rankEnds(BoxesAround const &boxes, Control &control)
{
    Index const n = boxes.samples(), p = boxes.features();
    RankedEnds ranked{Array<std::int32_t>::unwritten(n * p),
                      Array<std::int32_t>::unwritten(n * p),
                      Array<Index>::unwritten(p),
                      {},
                      {}};
    MergedColumns<2> columns({Event::lower, Event::upper}, n);
    auto first = Array<double>::unwritten(2 * n), last = Array<double>::unwritten(2 * n);
    // Ranks of one feature stay in the cache while they are written in order of the ends.
    auto lowerRank = Array<std::int32_t>::unwritten(n), upperRank = Array<std::int32_t>::unwritten(n);
    std::array<Span<std::int32_t>, 2> const rankOf{lowerRank.view(), upperRank.view()};
    for (Index j = 0; j != p; ++j)
    {
        if (!columns.sort(boxes.value, {boxes.lower, boxes.upper}, j, control))
            return {};
        Clustering clustering(columns.value(), boxes.rounding[j]);
        Index nFinite = 0;  // ranks so far
        bool isOneNumberEach = true;
        columns.merge(
            [&](Index, End end)
            {
                auto const rank = clustering.rank(end);
                rankOf[static_cast<std::size_t>(end.kind / Event::upper)][end.sample] = rank;
                if (end.number == -infinity || end.number == infinity)
                    return;
                if (clustering.isNew())
                    first[nFinite++] = end.number;
                last[nFinite - 1] = end.number;
                isOneNumberEach = isOneNumberEach && first[nFinite - 1] == end.number;
            });
        ranked.nRanks[j] = nFinite;
        ranked.first.push_back(Array<double>::copy(first.view().part(0, nFinite)));
        ranked.last.push_back(Array<double>::copy(last.view().part(0, isOneNumberEach ? 0 : nFinite)));
        for (Index i = 0; i != n; ++i)
        {
            ranked.lowerRank[i * p + j] = lowerRank[i];
            ranked.upperRank[i * p + j] = upperRank[i];
        }
    }
    return ranked;
}

std::optional<SortedEvents> sortEvents(BoxesAround const &boxes, Span<Index const> label, Control &control)
{
    Index const n = boxes.samples(), p = boxes.features();
    SortedEvents sorted{Array<Event>::unwritten(3 * n * p), Array<Index>::unwritten(p)};
    MergedColumns<3> columns({Event::lower, Event::value, Event::upper}, n);
    auto base = Array<std::int32_t>::unwritten(n);  // the code of each sample without a kind
    for (Index i = 0; i != n; ++i)
        base[i] = static_cast<std::int32_t>(8 * i + (label[i] == 1 ? 1 : 0));
    for (Index j = 0; j != p; ++j)
    {
        if (!columns.sort(boxes.value, {boxes.lower, boxes.value, boxes.upper}, j, control))
            return {};
        auto const row = sorted.events.view().part(3 * n * j, 3 * n);
        Clustering clustering(columns.value(), boxes.rounding[j]);
        columns.merge([&](Index k, End end) { row[k] = {base[end.sample] + end.kind, clustering.rank(end)}; });
        sorted.nRanks[j] = clustering.nRanks();
    }
    return sorted;
}

bool eventsOfSamples(Grid<Event const> all, Span<std::int32_t const> place, Grid<Event> kept)
{
    for (Index j = 0; j != all.rows(); ++j)
    {
        auto const row = kept.row(j);
        Index written = 0;
        for (Event const event : all.row(j))
        {
            auto const sample = event.sample();
            if (sample < 0 || sample >= place.size())
                return false;
            auto const to = place[sample];
            if (to < 0)
                continue;
            if (written == row.size())
                return false;
            row[written++] = {8 * to + (event.code & 7), event.rank};
        }
        if (written != row.size())
            return false;
    }
    return true;
}

EndsAround endsAround(Span<Event const> events, BoxesAround const &boxes, Index feature, Index rank)
{
    EndsAround around{-infinity, infinity};
    for (Event const event : events)
    {
        if (event.rank != rank && event.rank != rank + 1)
            continue;
        auto const &ends = event.kind() == Event::lower   ? boxes.lower
                           : event.kind() == Event::value ? boxes.value
                                                          : boxes.upper;
        double const number = ends(event.sample(), feature);
        if (event.rank == rank)
            around.last = std::max(around.last, number);
        else
            around.first = std::min(around.first, number);
    }
    return around;
}
}  // namespace hardwood
