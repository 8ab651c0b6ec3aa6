#include "ranks/ranks.h"

#include <array>
#include <cmath>
#include <tuple>

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
        if (!(gap <= farthestOfOne(previous_.number, end.number, largest_, rounding_)) || !(gap < infinity))
            return false;
        // Only an upper end below a lower end is worth a threshold; a value is both.
        bool const isSeparable = previous_.kind != Event::lower && end.kind != Event::upper;
        return !isSeparable && gap <= 2 * (noiseOf(previous_) + noiseOf(end));
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

    // The ends in the order of the values. Where they are around the values themselves, these are at hand in order;
    // otherwise each is looked up.
    void inOrderOfValues(BoxesAround const &boxes, Event::Kind kind, Index feature, Span<Keyed> sorted)
    {
        auto const &all = boxes.ends;
        bool const isLower = kind == Event::lower;
        auto const &from = isLower ? all.low : all.high;
        auto const &radii = isLower ? all.down : all.up;
        auto const rounding = all.rounding[feature];
        if (from.data() == boxes.value.data())
        {
            for (Index k = 0; k != sorted.size(); ++k)
            {
                auto const [key, place] = leading_[k];
                double const x = numberOf(key);
                double const radius = radii(radii.rows() == 1 ? 0 : all.group[place], feature);
                sorted[k] = {keyOf(isLower ? lowerEnd(x, radius, rounding) : upperEnd(x, radius, rounding)), place};
            }
            return;
        }
        for (Index i = 0; i != boxes.samples(); ++i)
            column_[i] = boxes.at(kind, i, feature);
        for (Index k = 0; k != sorted.size(); ++k)
            sorted[k] = {keyOf(column_[leading_[k].place]), leading_[k].place};
    }

    // A column in order; if that is not the order of the values, equal ends stay in it.
    void sortColumn(BoxesAround const &boxes, Event::Kind kind, Index feature, Array<Keyed> &sorted)
    {
        Index const n = boxes.samples();
        sorted[n] = {beyondAllKeys, 0};
        auto const entries = sorted.view().part(0, n);
        if (kind == Event::value)
        {
            std::copy(leading_.begin(), leading_.end(), entries.begin());
            return;
        }
        inOrderOfValues(boxes, kind, feature, entries);
        if (std::is_sorted(entries.begin(), entries.end(), [](Keyed a, Keyed b) { return a.key < b.key; }))
            return;
        // For the sorter the order of equal ends is that of their places.
        for (Index k = 0; k != n; ++k)
            entries[k].place = static_cast<std::int32_t>(k);
        sorter_.sort(entries);
        for (Index k = 0; k != n; ++k)
            entries[k].place = leading_[entries[k].place].place;
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
    bool sort(BoxesAround const &boxes, Index feature, Control &control)
    {
        for (Index i = 0; i != boxes.samples(); ++i)
        {
            value_[i] = boxes.value(i, feature);
            leading_[i] = {keyOf(value_[i]), static_cast<std::int32_t>(i)};
        }
        sorter_.sort(leading_.view());
        for (std::size_t c = 0; c != columns; ++c)
        {
            if (control.shouldStopOrPoll())
                return false;
            sortColumn(boxes, kinds_[c], feature, sorted_[c]);
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
    RankedEnds ranked{Array<std::int32_t>::unwritten(n * p), Array<std::int32_t>::unwritten(n * p),
                      Array<Index>::unwritten(p)};
    MergedColumns<2> columns({Event::lower, Event::upper}, n);
    // Ranks of one feature stay in the cache while they are written in order of the ends.
    auto lowerRank = Array<std::int32_t>::unwritten(n), upperRank = Array<std::int32_t>::unwritten(n);
    std::array<Span<std::int32_t>, 2> const rankOf{lowerRank.view(), upperRank.view()};
    for (Index j = 0; j != p; ++j)
    {
        if (!columns.sort(boxes, j, control))
            return {};
        Clustering clustering(columns.value(), boxes.ends.rounding[j]);
        columns.merge(
            [&](Index, End end)
            { rankOf[static_cast<std::size_t>(end.kind / Event::upper)][end.sample] = clustering.rank(end); });
        ranked.nRanks[j] = clustering.nRanks();
        for (Index i = 0; i != n; ++i)
        {
            ranked.lowerRank[i * p + j] = lowerRank[i];
            ranked.upperRank[i * p + j] = upperRank[i];
        }
    }
    return ranked;
}

ClusterEnds clusterEnds(Grid<std::int32_t const> lowerRank, Grid<std::int32_t const> upperRank,
                        Span<Index const> nRanks, Attacked const &boxes)
{
    Index const p = nRanks.size();
    auto offset = Array<Index>(p + 1);
    for (Index j = 0; j != p; ++j)
        offset[j + 1] = offset[j] + nRanks[j];
    Index const all = offset[p];
    ClusterEnds clusters{std::move(offset), Array<double>(all, infinity), Array<double>(all, -infinity),
                         Array<double>(all, -infinity)};
    auto const take = [&](Index j, Index rank, double end)
    {
        if (rank < 0 || rank >= nRanks[j])
            return;
        Index const at = clusters.offset[j] + rank;
        clusters.first[at] = std::min(clusters.first[at], end);
        clusters.last[at] = std::max(clusters.last[at], end);
    };
    for (Index i = 0; i != lowerRank.rows(); ++i)
        for (Index j = 0; j != p; ++j)
        {
            Index const rank = lowerRank(i, j);
            double const lower = boxes.lower(i, j);
            take(j, rank, lower);
            take(j, upperRank(i, j), boxes.upper(i, j));
            if (rank >= 0 && rank < nRanks[j])
                clusters.turn[clusters.offset[j] + rank] = std::max(clusters.turn[clusters.offset[j] + rank], lower);
        }
    for (Index at = 0; at != all; ++at)
        if (clusters.turn[at] == -infinity)
            clusters.turn[at] = clusters.first[at];
    return clusters;
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
        if (!columns.sort(boxes, j, control))
            return {};
        auto const row = sorted.events.view().part(3 * n * j, 3 * n);
        Clustering clustering(columns.value(), boxes.ends.rounding[j]);
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

std::optional<EndsAround> endsAround(Span<Event const> events, BoxesAround const &boxes, Index feature, Index rank)
{
    EndsAround around{-infinity, infinity};
    for (Event const event : events)
    {
        if (event.rank != rank && event.rank != rank + 1)
            continue;
        if (event.code < 0 || event.sample() >= boxes.samples() || event.kind() > Event::upper)
            return {};
        double const number = boxes.at(static_cast<Event::Kind>(event.kind()), event.sample(), feature);
        if (event.rank == rank)
            around.last = std::max(around.last, number);
        else
            around.first = std::min(around.first, number);
    }
    return around;
}

namespace
{
// Ends of a feature that lie within a distance of a number, in order, and the values that they are around.
class NearEnds
{
    std::vector<double> value_;
    std::vector<End> ends_;  // numbered as in `value_`

    [[nodiscard]] double valueOf(End end) const { return value_[static_cast<std::size_t>(end.sample)]; }

public:
    void add(double number, Event::Kind kind, double value)
    {
        ends_.push_back({number, static_cast<std::int32_t>(value_.size()), kind});
        value_.push_back(value);
    }

    void sort()
    {
        auto const keyOf = [&](End const &end) { return std::tuple(end.number, end.kind, valueOf(end), end.sample); };
        std::sort(ends_.begin(), ends_.end(), [&](End const &a, End const &b) { return keyOf(a) < keyOf(b); });
    }

    // The smallest and the largest of those that have the rank of one of them.
    [[nodiscard]] EndsAround clusterOf(double end, Rounding rounding) const
    {
        Clustering clustering(Span<double const>(value_), rounding);
        std::vector<std::int32_t> rank;
        std::int32_t own = -1;
        for (End const &one : ends_)
        {
            rank.push_back(clustering.rank(one));
            own = one.number == end ? rank.back() : own;
        }
        EndsAround cluster{end, end};
        for (std::size_t k = 0; k != rank.size(); ++k)
            if (rank[k] == own)
            {
                cluster.first = std::min(cluster.first, ends_[k].number);
                cluster.last = std::max(cluster.last, ends_[k].number);
            }
        return cluster;
    }
};

// Whether all ends of a feature are the values themselves, which nothing rounded.
bool areValues(BoxesAround const &boxes, Index feature)
{
    auto const &ends = boxes.ends;
    if (ends.low.data() != boxes.value.data() || ends.high.data() != boxes.value.data())
        return false;
    for (Index g = 0; g != ends.down.rows(); ++g)
        if (ends.down(g, feature) != 0.0 || ends.up(g, feature) != 0.0)
            return false;
    return true;
}

// The ends within a distance of each of two numbers, from one pass over all samples.
std::array<NearEnds, 2> nearEnds(std::array<double, 2> around, double distance, BoxesAround const &boxes, Index feature)
{
    std::array<NearEnds, 2> near;
    auto const &all = boxes.ends;
    auto const isNear = [&](double number, double within)
    { return std::abs(number - around[0]) <= within || std::abs(number - around[1]) <= within; };
    auto const take = [&](Event::Kind kind, Index i)
    {
        double const number = boxes.at(kind, i, feature);
        for (std::size_t side = 0; side != 2; ++side)
            if (std::abs(number - around[side]) <= distance)
                near[side].add(number, kind, boxes.value(i, feature));
    };
    for (Index i = 0; i != boxes.samples(); ++i)
    {
        // Without its noise an end lies by no more than the distance beside itself; hardly any needs a closer look.
        Index const group = all.group[i];
        if (isNear(all.low(i, feature) - all.down(group, feature), 2 * distance))
            take(Event::lower, i);
        if (isNear(all.high(i, feature) + all.up(group, feature), 2 * distance))
            take(Event::upper, i);
    }
    for (auto &side : near)
        side.sort();
    return near;
}
}  // namespace

EndsAround betweenClusters(EndsAround gap, BoxesAround const &boxes, Index feature, double largest)
{
    if (areValues(boxes, feature))
        return gap;
    auto const rounding = boxes.ends.rounding[feature];
    auto const isThere = [](double end) { return std::isfinite(end); };
    // No two neighbours of one rank are farther apart.
    double step = rounding.least;
    for (double const end : {gap.last, gap.first})
        if (isThere(end))
            step = std::max(step, farthestOfOne(end, end, largest, rounding));
    EndsAround found = gap;
    for (double distance = step; distance > 0.0 && distance < infinity; distance *= 4)
    {
        auto const near = nearEnds({gap.last, gap.first}, distance, boxes, feature);
        found.last = isThere(gap.last) ? near[0].clusterOf(gap.last, rounding).last : gap.last;
        found.first = isThere(gap.first) ? near[1].clusterOf(gap.first, rounding).first : gap.first;
        bool const isAll = !(found.last - gap.last + step > distance) && !(gap.first - found.first + step > distance);
        if (isAll)
            break;  // whoever is next to them was looked at
    }
    return found;
}
}  // namespace hardwood
