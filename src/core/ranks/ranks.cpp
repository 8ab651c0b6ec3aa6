#include "ranks/ranks.h"

#include <array>
#include <cmath>
#include <iterator>
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
//
// Where ends are around the values themselves, they mostly have the order of the values: then they are computed while
// they are merged, and take no memory. If one turns out to be out of order, all of its kind are sorted.
template <std::size_t columns>
class MergedColumns
{
    BoxesAround const &boxes_;
    std::array<Event::Kind, columns> kinds_;
    // Each with an entry beyond all keys at its end; the values have none of their own: they are the leading ones.
    std::array<Array<Keyed>, columns> sorted_;
    std::array<bool, columns> followsValues_{};  // whether the ends are computed while they are merged
    Array<Keyed> leading_;
    Array<double> value_;
    Array<double> column_;  // a copy in one piece: rows are far apart, and it is read in any order
    NumberSorter sorter_;
    Index feature_ = 0;

    // Computes the ends of a kind around the values, in their order.
    struct EndsAround
    {
        Grid<double const> radii;
        Span<Index const> group;
        Rounding rounding;
        Index feature;
        bool isLower;

        [[nodiscard]] Keyed operator()(Keyed value) const
        {
            double const x = numberOf(value.key);
            double const radius = radii(radii.rows() == 1 ? 0 : group[value.place], feature);
            return {keyOf(isLower ? lowerEnd(x, radius, rounding) : upperEnd(x, radius, rounding)), value.place};
        }
    };

    [[nodiscard]] EndsAround endsAround(Event::Kind kind) const
    {
        auto const &all = boxes_.ends;
        bool const isLower = kind == Event::lower;
        return {isLower ? all.down : all.up, all.group, all.rounding[feature_], feature_, isLower};
    }

    [[nodiscard]] bool isAroundValues(Event::Kind kind) const
    {
        auto const &from = kind == Event::lower ? boxes_.ends.low : boxes_.ends.high;
        return from.data() == boxes_.value.data();
    }

    // The ends in the order of the values. Where they are around the values themselves, these are at hand in order;
    // otherwise each is looked up.
    void inOrderOfValues(Event::Kind kind, Span<Keyed> sorted)
    {
        if (isAroundValues(kind))
        {
            std::transform(leading_.begin(), leading_.begin() + sorted.size(), sorted.begin(), endsAround(kind));
            return;
        }
        if (column_.empty())
            column_ = Array<double>::unwritten(boxes_.samples());
        for (Index i = 0; i != boxes_.samples(); ++i)
            column_[i] = boxes_.at(kind, i, feature_);
        for (Index k = 0; k != sorted.size(); ++k)
            sorted[k] = {keyOf(column_[leading_[k].place]), leading_[k].place};
    }

    // A column in order; if that is not the order of the values, equal ends stay in it.
    void sortColumn(std::size_t c)
    {
        Index const n = boxes_.samples();
        auto &sorted = sorted_[c];
        followsValues_[c] = false;
        if (sorted.empty())
            sorted = Array<Keyed>::unwritten(n + 1);
        sorted[n] = {beyondAllKeys, 0};
        auto const entries = sorted.view().part(0, n);
        inOrderOfValues(kinds_[c], entries);
        if (std::is_sorted(entries.begin(), entries.end(), [](Keyed a, Keyed b) { return a.key < b.key; }))
            return;
        // For the sorter the order of equal ends is that of their places.
        for (Index k = 0; k != n; ++k)
            entries[k].place = static_cast<std::int32_t>(k);
        sorter_.sort(entries);
        for (Index k = 0; k != n; ++k)
            entries[k].place = leading_[entries[k].place].place;
    }

    // The entries of a column one after the other. Ends that follow the values are computed some hundreds at a time:
    // one by one, the merge would wait for each.
    class Cursor
    {
        static constexpr Index chunk = 512;

        MergedColumns const *columns_ = nullptr;
        EndsAround compute_{};
        std::array<Keyed, chunk> computed_;
        Index begin_ = 0;  // of the next chunk
        Keyed const *next_ = nullptr;
        Keyed const *end_ = nullptr;

        void refill()
        {
            auto const &values = columns_->leading_;
            auto const n = std::min(chunk, values.size() - begin_);
            auto const *const from = values.begin() + begin_;
            std::transform(from, from + n, computed_.begin(), compute_);
            begin_ += n;
            if (begin_ == values.size())
                computed_[static_cast<std::size_t>(n - 1)] = from[n - 1];  // beyond all keys
            next_ = computed_.data();
            end_ = next_ + n;
        }

    public:
        void begin(MergedColumns const &merged, std::size_t c)
        {
            columns_ = &merged;
            compute_ = merged.endsAround(merged.kinds_[c]);
            begin_ = 0;
            auto const &all = merged.kinds_[c] == Event::value ? merged.leading_ : merged.sorted_[c];
            next_ = all.begin();
            end_ = all.end();
            if (merged.followsValues_[c])
                refill();
        }
        [[nodiscard]] Keyed head() const { return *next_; }
        // Go on to the next entry; the last one, beyond all keys, is never passed.
        [[nodiscard]] Keyed next()
        {
            if (++next_ == end_)
                refill();
            return *next_;
        }
    };

    // Tell `take(k, end)` of all ends of the feature, the smallest first; -1, or the column that is out of order.
    template <class Take>
    [[nodiscard]] Index mergeOnce(Take take) const
    {
        std::array<Cursor, columns> cursor;
        std::array<Keyed, columns> head;
        for (std::size_t c = 0; c != columns; ++c)
        {
            cursor[c].begin(*this, c);
            head[c] = cursor[c].head();
        }
        auto const all = static_cast<Index>(columns) * value_.size();
        for (Index k = 0; k != all; ++k)
        {
            std::size_t first = 0;
            for (std::size_t c = 1; c != columns; ++c)
                first = head[c].key < head[first].key ? c : first;
            Keyed const taken = head[first];
            head[first] = cursor[first].next();
            if (head[first].key < taken.key)
                return static_cast<Index>(first);
            take(k, End{numberOf(taken.key), taken.place, kinds_[first]});
        }
        return -1;
    }

public:
    MergedColumns(BoxesAround const &boxes, std::array<Event::Kind, columns> kinds)
        : boxes_(boxes),
          kinds_(kinds),
          leading_(Array<Keyed>::unwritten(boxes.samples() + 1)),
          value_(Array<double>::unwritten(boxes.samples()))
    {
        leading_[boxes.samples()] = {beyondAllKeys, 0};
    }

    // The values of the feature that was sorted.
    [[nodiscard]] Span<double const> value() const { return value_.view(); }

    // Sort the columns of a feature. False where the Control stopped it.
    bool sort(Index feature, Control &control)
    {
        feature_ = feature;
        for (Index i = 0; i != boxes_.samples(); ++i)
        {
            value_[i] = boxes_.value(i, feature);
            leading_[i] = {keyOf(value_[i]), static_cast<std::int32_t>(i)};
        }
        sorter_.sort(leading_.view().part(0, boxes_.samples()));
        for (std::size_t c = 0; c != columns; ++c)
        {
            if (control.shouldStopOrPoll())
                return false;
            followsValues_[c] = kinds_[c] != Event::value && isAroundValues(kinds_[c]);
            if (kinds_[c] != Event::value && !followsValues_[c])
                sortColumn(c);
        }
        return true;
    }

    // Tell a taker, which `begin()` returns, of all ends of the feature that was sorted, the smallest first; one that
    // was told of ends that turned out to be out of order is forgotten.
    template <class Begin>
    void merge(Begin begin)
    {
        while (true)
        {
            auto const wrong = mergeOnce(begin());
            if (wrong < 0)
                return;
            sortColumn(static_cast<std::size_t>(wrong));
        }
    }
};
}  // namespace

double BoxesAround::largest(Index feature) const
{
    double largest = 0.0;
    if (events.rows() == 0)
    {
        for (Index i = 0; i != samples(); ++i)
            largest = std::max(largest, std::abs(value(i, feature)));
        return largest;
    }
    auto const row = events.row(feature);
    auto const isValue = [](Event event) { return event.kind() == Event::value; };
    auto const first = std::find_if(row.begin(), row.end(), isValue);
    auto const last = std::find_if(std::reverse_iterator(row.end()), std::reverse_iterator(row.begin()), isValue);
    return first == row.end()
               ? largest
               : std::max(std::abs(value(first->sample(), feature)), std::abs(value(last->sample(), feature)));
}

std::optional<RankedEnds> rankEnds(BoxesAround const &boxes, bool byFeature, Control &control)
{
    Index const n = boxes.samples(), p = boxes.features();
    RankedEnds ranked{Array<std::int32_t>::unwritten(n * p), Array<std::int32_t>::unwritten(n * p),
                      Array<Index>::unwritten(p)};
    MergedColumns<2> columns(boxes, {Event::lower, Event::upper});
    // Ranks of one feature stay in the cache while they are written in order of the ends.
    auto column = Array<std::int32_t>::unwritten(byFeature ? 0 : 2 * n);
    for (Index j = 0; j != p; ++j)
    {
        if (!columns.sort(j, control))
            return {};
        std::array<Span<std::int32_t>, 2> rankOf;
        for (std::size_t k = 0; k != 2; ++k)
            rankOf[k] = byFeature ? (k == 0 ? ranked.lowerRank : ranked.upperRank).view().part(j * n, n)
                                  : column.view().part(static_cast<Index>(k) * n, n);
        Clustering const none(columns.value(), boxes.ends.rounding[j]);
        auto clustering = none;
        columns.merge(
            [&]
            {
                clustering = none;
                return [&](Index, End end) { rankOf[end.kind / Event::upper][end.sample] = clustering.rank(end); };
            });
        ranked.nRanks[j] = clustering.nRanks();
        for (Index i = 0; !byFeature && i != n; ++i)
        {
            ranked.lowerRank[i * p + j] = rankOf[0][i];
            ranked.upperRank[i * p + j] = rankOf[1][i];
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
    SortedEvents sorted{Array<Event>::unwritten(3 * n * p), Array<FiniteEvents>::unwritten(p)};
    MergedColumns<3> columns(boxes, {Event::lower, Event::value, Event::upper});
    for (Index j = 0; j != p; ++j)
    {
        if (!columns.sort(j, control))
            return {};
        auto const row = sorted.events.view().part(3 * n * j, 3 * n);
        FiniteEvents finite;
        Clustering const none(columns.value(), boxes.ends.rounding[j]);
        auto clustering = none;
        auto const take = [&](Index k, End end)
        {
            static_cast<void>(clustering.rank(end));
            row[k] = Event(end.sample,
                           end.kind | (label[end.sample] == 1 ? 1U : 0U) | (clustering.isNew() ? Event::begins : 0U));
            finite.first += end.number == -infinity ? 1 : 0;
            finite.end -= end.number == infinity ? 1 : 0;
        };
        columns.merge(
            [&]
            {
                clustering = none;
                finite = {0, 3 * n};
                return take;
            });
        sorted.finite[j] = finite;
    }
    return sorted;
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

// The ends within a distance of a number, found in the sorted events of the feature.
NearEnds nearSorted(double around, double distance, BoxesAround const &boxes, Index feature)
{
    NearEnds near;
    auto const events = boxes.events.row(feature);
    auto const numberOf = [&](Event event) { return boxes.at(event.kind(), event.sample(), feature); };
    auto const *const from = std::partition_point(events.begin(), events.end(),
                                                  [&](Event event) { return numberOf(event) < around - distance; });
    for (auto const *at = from; at != events.end() && numberOf(*at) - around <= distance; ++at)
        if (at->kind() != Event::value)
            near.add(numberOf(*at), at->kind(), boxes.value(at->sample(), feature));
    near.sort();
    return near;
}

// The ends within a distance of each of two numbers, from one pass over all samples unless they are sorted.
std::array<NearEnds, 2> nearEnds(std::array<double, 2> around, double distance, BoxesAround const &boxes, Index feature)
{
    std::array<NearEnds, 2> near;
    if (boxes.events.rows() > 0)
    {
        for (std::size_t side = 0; side != 2; ++side)
            if (std::isfinite(around[side]))
                near[side] = nearSorted(around[side], distance, boxes, feature);
        return near;
    }
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

EndsAround gapBehind(Span<Event const> events, Index place, BoxesAround const &boxes, Index feature)
{
    auto const numberAt = [&](Index k) { return boxes.at(events[k].kind(), events[k].sample(), feature); };
    Index next = place + 1;
    while (next != events.size() && !events[next].beginsRank())
        ++next;
    return {numberAt(next - 1), next == events.size() ? infinity : numberAt(next)};
}

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
