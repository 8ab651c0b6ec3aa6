#include "placing/placing.h"

#include <cmath>

namespace hardwood
{
namespace
{
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double largestNumber = std::numeric_limits<double>::max();

struct Margin
{
    double low;
    double high;
};

// The number midway between two, at least `low` and less than `high`, however large they are.
double midpoint(double low, double high)
{
    double const middle = std::isfinite(high - low) ? low + (high - low) / 2 : low / 2 + high / 2;
    return low <= middle && middle < high ? middle : low;
}

// The same where there may be no end on a side: then clear of the one that there is, and finite.
double maximumMargin(Margin margin)
{
    if (std::isinf(margin.low) && std::isinf(margin.high))
        return 0.0;
    if (std::isinf(margin.low))
        return std::max(-largestNumber, margin.high - std::max(1.0, std::abs(margin.high)));
    if (std::isinf(margin.high))
        return std::min(largestNumber, margin.low + std::max(1.0, std::abs(margin.low)));
    return midpoint(margin.low, margin.high);
}

// Where a feature has whole numbers only, a threshold between them is easier to read.
double thresholdIn(Margin margin, bool isWhole)
{
    double const middle = maximumMargin(margin), between = std::floor(middle) + 0.5;
    return isWhole && margin.low <= between && between < margin.high ? between : middle;
}

// Which sides of a cut each of some samples reaches.
class ReachedSides
{
    std::vector<std::uint8_t> sides_;  // 1 for the left one, 2 for the right one

public:
    void clear(Index nSamples)
    {
        sides_.clear();
        sides_.reserve(static_cast<std::size_t>(nSamples));
    }
    void add(bool isLeft, bool isRight)
    {
        sides_.push_back(static_cast<std::uint8_t>((isLeft ? 1 : 0) | (isRight ? 2 : 0)));
    }
    [[nodiscard]] bool left(std::size_t k) const { return (sides_[k] & 1) != 0; }
    [[nodiscard]] bool right(std::size_t k) const { return (sides_[k] & 2) != 0; }
    [[nodiscard]] std::size_t nRight() const
    {
        return static_cast<std::size_t>(
            std::count_if(sides_.begin(), sides_.end(), [](std::uint8_t side) { return (side & 2) != 0; }));
    }
};

// Cuts that are ranks.
class RankCuts
{
    RankedFeatures const &ranks_;
    BoxesAround const &boxes_;

    // The largest end of a rank (or the smallest, with the signs turned) among all samples.
    template <class Better>
    double extreme(Index feature, Index rank, double worst, Better isBetter) const
    {
        auto const column = ranks_.column[feature];
        for (Index i = 0; i != ranks_.lower.rows(); ++i)
        {
            if (ranks_.lower(i, column) == rank)
                if (double const end = boxes_.ends.lower(i, feature); isBetter(end, worst))
                    worst = end;
            if (ranks_.upper(i, column) == rank)
                if (double const end = boxes_.ends.upper(i, feature); isBetter(end, worst))
                    worst = end;
        }
        return worst;
    }

public:
    using Cut = Index;

    RankCuts(RankedFeatures const &ranks, BoxesAround const &boxes) : ranks_(ranks), boxes_(boxes) {}

    [[nodiscard]] bool reachesLeft(Index i, Index j, Cut t) const { return ranks_.lower(i, ranks_.column[j]) <= t; }
    [[nodiscard]] bool reachesRight(Index i, Index j, Cut t) const { return ranks_.upper(i, ranks_.column[j]) > t; }

    // Before and behind all cuts that a feature can have.
    static Cut first(Index) { return -2; }
    [[nodiscard]] Cut last(Index feature) const { return ranks_.nRanks[feature] + 1; }

    // Whether no end lies behind one cut and up to another.
    static bool areOne(Index, Cut one, Cut other) { return other <= one; }

    // Below no and above yes there is nothing, though a missing value counts as reaching there.
    static bool isBelowNo(Index, Cut t) { return t < 0; }
    [[nodiscard]] bool isAboveYes(Index feature, Cut t) const { return t >= ranks_.nRanks[feature] - 1; }

    // The nearest ends of the given samples, or of all where they have none on a side; and which sides they reach.
    [[nodiscard]] Margin margin(Span<std::int32_t const> samples, Index feature, Cut t, ReachedSides &sides) const
    {
        Index const n = ranks_.nRanks[feature], column = ranks_.column[feature];
        Index under = -1, over = n;
        sides.clear(samples.size());
        for (auto const i : samples)
        {
            sides.add(reachesLeft(i, feature, t), reachesRight(i, feature, t));
            for (Index const rank : {Index{ranks_.lower(i, column)}, Index{ranks_.upper(i, column)}})
            {
                if (rank <= t)
                    under = std::max(under, rank < n ? rank : -1);
                else if (rank >= 0)
                    over = std::min(over, rank);
            }
        }
        under = under >= 0 ? under : std::min(t, n - 1);
        over = over < n ? over : std::max<Index>(t + 1, 0);
        return {under >= 0 ? extreme(feature, under, -infinity, [](double a, double b) { return a > b; }) : -infinity,
                over < n ? extreme(feature, over, infinity, [](double a, double b) { return a < b; }) : infinity};
    }
};

// Cuts that are numbers, away from where rounding rules.
class NumberCuts
{
    BoxesAround const &boxes_;
    std::vector<double> largest_;  // of each feature's values, without signs; -1 where nobody has asked yet

    double largest(Index feature)
    {
        auto &known = largest_[static_cast<std::size_t>(feature)];
        if (known < 0.0)
            known = boxes_.largest(feature);
        return known;
    }

    // Narrow a margin around a cut by one end, x - radius or x + radius and its noise; whether it is before the cut.
    // Most are far outside, whatever their noise is.
    template <class EndOf>
    static bool narrow(Margin &margin, double cut, double x, double radius, double near, Rounding rounding, EndOf endOf)
    {
        if (near < margin.low && !LazyBox::isNear(margin.low - near, x, radius, rounding))
            return true;
        if (near > margin.high && !LazyBox::isNear(near - margin.high, x, radius, rounding))
            return false;
        double const end = endOf(x, radius, rounding);
        if (end <= cut)
            margin.low = std::max(margin.low, end);
        else
            margin.high = std::min(margin.high, end);
        return end <= cut;
    }

    struct Reached
    {
        bool left;
        bool right;
    };

    // Narrow a margin by both ends of a sample; which sides of the cut it reaches.
    Reached narrow(Margin &margin, Index i, Index feature, double cut) const
    {
        auto const &all = boxes_.ends;
        auto const rounding = all.rounding[feature];
        double const low = all.low(i, feature), high = all.high(i, feature);
        double const down = all.down(all.group[i], feature), up = all.up(all.group[i], feature);
        bool const isLeft = narrow(margin, cut, low, down, low - down, rounding, lowerEnd);
        return {isLeft, !narrow(margin, cut, high, up, high + up, rounding, upperEnd)};
    }

    [[nodiscard]] FloatNode nodeAt(Index feature, double cut) const
    {
        return {cut, static_cast<std::int32_t>(feature), -1, -1, -1};
    }

public:
    using Cut = double;

    explicit NumberCuts(BoxesAround const &boxes)
        : boxes_(boxes), largest_(static_cast<std::size_t>(boxes.features()), -1.0)
    {
    }

    // Whether a cut in a gap stands between two clusters. Where the gap is wide, no ends on its two sides count as one;
    // otherwise the clusters of the ends next to it tell.
    [[nodiscard]] bool isBetweenClusters(Index feature, Gap gap)
    {
        auto const rounding = boxes_.ends.rounding[feature];
        if (gap.first - gap.last > farthestOfOne(gap.last, gap.first, largest(feature), rounding))
            return true;
        double const cut = midpoint(gap.last, gap.first);
        Margin all{-infinity, infinity};
        for (Index i = 0; i != boxes_.samples(); ++i)
            narrow(all, i, feature, cut);
        auto const found = betweenClusters({all.low, all.high}, boxes_, feature, largest(feature));
        return found.last <= cut && cut < found.first;
    }

    [[nodiscard]] bool reachesLeft(Index i, Index j, Cut b) const
    {
        return LazyBox{boxes_.ends, i}.left(nodeAt(j, b), 0);
    }
    [[nodiscard]] bool reachesRight(Index i, Index j, Cut b) const
    {
        return LazyBox{boxes_.ends, i}.right(nodeAt(j, b), 0);
    }

    static Cut first(Index) { return -infinity; }
    static Cut last(Index) { return infinity; }

    [[nodiscard]] bool areOne(Index feature, Cut one, Cut other) const
    {
        if (other <= one)
            return true;
        if (std::isinf(one) || std::isinf(other))
            return false;
        auto const isBetween = [=](double end) { return one < end && end <= other; };
        for (Index i = 0; i != boxes_.samples(); ++i)
            if (isBetween(boxes_.ends.lower(i, feature)) || isBetween(boxes_.ends.upper(i, feature)))
                return false;
        return true;
    }

    static bool isBelowNo(Index, Cut b) { return b < 0.0; }
    static bool isAboveYes(Index, Cut b) { return b >= 1.0; }

    [[nodiscard]] Margin margin(Span<std::int32_t const> samples, Index feature, Cut b, ReachedSides &sides)
    {
        Margin own{-infinity, infinity};
        sides.clear(samples.size());
        for (auto const i : samples)
        {
            auto const [isLeft, isRight] = narrow(own, i, feature, b);
            sides.add(isLeft, isRight);
        }
        if (std::isinf(own.low) || std::isinf(own.high))
        {
            Margin all{-infinity, infinity};
            for (Index i = 0; i != boxes_.samples(); ++i)
                narrow(all, i, feature, b);
            own = {std::isinf(own.low) ? all.low : own.low, std::isinf(own.high) ? all.high : own.high};
        }
        auto const found = betweenClusters({own.low, own.high}, boxes_, feature, largest(feature));
        return {found.last, found.first};
    }
};

// What the splits above a node leave of a feature: cuts and thresholds strictly in between.
template <class Cut>
struct Interval
{
    Cut first;
    Cut last;
    double low = -infinity;
    double high = infinity;
};

// Places one tree, node by node in preorder, without recursion however deep it is.
template <class Cuts>
class Placing
{
    using Cut = typename Cuts::Cut;

    struct Here
    {
        Index node = 0;     // of the tree that is given
        Index parent = -1;  // of the tree that is placed
        bool isLeft = true;
        std::vector<std::int32_t> samples;  // that reach it
    };

    CutTree const &tree_;
    Span<Cut const> cut_;
    Cuts &cuts_;
    FeatureKinds const &kinds_;
    std::vector<PlacedNode> nodes_;
    std::vector<Cut> cutOf_;     // of each placed node
    std::vector<Index> parent_;  // and the node above it
    std::vector<Here> waiting_;  // the next one last
    ReachedSides sides_;         // of the samples of the last split that was decided on

    [[nodiscard]] Interval<Cut> above(Index parent, bool isLeft, Index feature) const
    {
        Interval<Cut> inside{cuts_.first(feature), cuts_.last(feature)};
        for (bool left = isLeft; parent >= 0;)
        {
            auto const &split = nodes_[static_cast<std::size_t>(parent)];
            auto const cut = cutOf_[static_cast<std::size_t>(parent)];
            // The nearest split above decides: those farther up leave no less.
            if (split.feature == feature && left && std::isinf(inside.high))
                inside.last = cut, inside.high = split.threshold;
            else if (split.feature == feature && !left && std::isinf(inside.low))
                inside.first = cut, inside.low = split.threshold;
            Index const higher = parent_[static_cast<std::size_t>(parent)];
            left = higher >= 0 && nodes_[static_cast<std::size_t>(higher)].left == parent;
            parent = higher;
        }
        return inside;
    }

    // The threshold of a split, or the child that takes its place where the other one is not needed.
    struct Decision
    {
        Index instead = -1;
        double threshold = 0.0;
        Margin margin{};
    };

    Decision decide(Here const &here, Index node)
    {
        Index const j = tree_.feature[node], left = tree_.left[node], right = tree_.right[node];
        Cut const t = cut_[node];
        if (kinds_.isQuestion[j] && (cuts_.isBelowNo(j, t) || cuts_.isAboveYes(j, t)))
            return {cuts_.isBelowNo(j, t) ? right : left};
        auto const inside = above(here.parent, here.isLeft, j);
        auto const any = [&](auto reaches) { return std::any_of(here.samples.begin(), here.samples.end(), reaches); };
        if (cuts_.areOne(j, t, inside.last) || !any([&](Index i) { return cuts_.reachesRight(i, j, t); }))
            return {left};
        if (cuts_.areOne(j, inside.first, t) || !any([&](Index i) { return cuts_.reachesLeft(i, j, t); }))
            return {right};
        Margin const margin = cuts_.margin(Span<std::int32_t const>(here.samples), j, t, sides_);
        Margin const room{std::max(margin.low, inside.low), std::min(margin.high, inside.high)};
        if (room.low >= room.high)
            return {left};  // no end lies between this cut and the split above: everybody reaches left, no point right
        auto const isInside = [&](double b) { return inside.low < b && b < inside.high; };
        double threshold = thresholdIn(margin, kinds_.isWhole[j]);
        if (!isInside(threshold))
            threshold = thresholdIn(room, kinds_.isWhole[j]);
        if (!(inside.low < threshold && threshold < room.high))
            return {right};  // the same with no number left of it
        return {-1, threshold, margin};
    }

    // Append what a place in the tree becomes.
    void place(Here here)
    {
        auto const own = static_cast<Index>(nodes_.size());
        if (here.parent >= 0)
        {
            auto &above = nodes_[static_cast<std::size_t>(here.parent)];
            (here.isLeft ? above.left : above.right) = own;
        }
        nodes_.emplace_back();
        cutOf_.push_back(Cut{});
        parent_.push_back(here.parent);
        Index node = here.node;
        for (; tree_.left[node] >= 0;)
        {
            auto const decision = decide(here, node);
            if (decision.instead < 0)
            {
                split(here, node, decision);
                return;
            }
            node = decision.instead;
        }
        nodes_.back().label = tree_.label[node];
    }

    void split(Here &here, Index node, Decision const &decision)
    {
        auto const own = static_cast<Index>(nodes_.size()) - 1;
        Index const j = tree_.feature[node];
        Cut const t = cut_[node];
        auto &placed = nodes_.back();
        placed.feature = j;
        placed.threshold = decision.threshold;
        placed.low = decision.margin.low;
        placed.high = decision.margin.high;
        cutOf_.back() = t;
        Here right{tree_.right[node], own, false, {}}, left{tree_.left[node], own, true, {}};
        right.samples.reserve(sides_.nRight());
        std::size_t nLeft = 0;
        for (std::size_t k = 0; k != here.samples.size(); ++k)
        {
            auto const i = here.samples[k];
            if (sides_.right(k))
                right.samples.push_back(i);
            if (sides_.left(k))
                here.samples[nLeft++] = i;
        }
        here.samples.resize(nLeft);
        left.samples = std::move(here.samples);
        waiting_.push_back(std::move(right));
        waiting_.push_back(std::move(left));
    }

    // Make a leaf of every split between two leaves of one class, from below; the nodes that stay, in preorder.
    std::vector<PlacedNode> tidied()
    {
        auto const at = [&](Index node) -> PlacedNode & { return nodes_[static_cast<std::size_t>(node)]; };
        for (auto node = static_cast<Index>(nodes_.size()) - 1; node >= 0; --node)
            if (at(node).left >= 0 && at(at(node).left).left < 0 && at(at(node).right).left < 0 &&
                at(at(node).left).label == at(at(node).right).label)
            {
                PlacedNode leaf;
                leaf.label = at(at(node).left).label;
                at(node) = leaf;
            }
        std::vector<PlacedNode> kept;
        struct Copy
        {
            Index node, parent;
            bool isLeft;
        };
        for (std::vector<Copy> waiting{{0, -1, true}}; !waiting.empty();)
        {
            Copy const copy = waiting.back();
            waiting.pop_back();
            auto const own = static_cast<Index>(kept.size());
            if (copy.parent >= 0)
            {
                auto &above = kept[static_cast<std::size_t>(copy.parent)];
                (copy.isLeft ? above.left : above.right) = own;
            }
            kept.push_back(at(copy.node));
            if (at(copy.node).left >= 0)
            {
                waiting.push_back({at(copy.node).right, own, false});
                waiting.push_back({at(copy.node).left, own, true});
            }
        }
        return kept;
    }

public:
    Placing(CutTree const &tree, Span<Cut const> cut, Cuts &cuts, FeatureKinds const &kinds)
        : tree_(tree), cut_(cut), cuts_(cuts), kinds_(kinds)
    {
    }

    std::vector<PlacedNode> run(Index nSamples, Control &control)
    {
        Here root{0, -1, true, {}};
        root.samples.reserve(static_cast<std::size_t>(nSamples));
        for (Index i = 0; i != nSamples; ++i)
            root.samples.push_back(static_cast<std::int32_t>(i));
        waiting_.push_back(std::move(root));
        while (!waiting_.empty())
        {
            if (control.shouldStopOrPoll())
                return {};
            Here here = std::move(waiting_.back());
            waiting_.pop_back();
            place(std::move(here));
        }
        return tidied();
    }
};
}  // namespace

std::vector<PlacedNode> placeRanks(CutTree const &tree, Span<Index const> index, RankedFeatures const &ranks,
                                   BoxesAround const &boxes, FeatureKinds const &kinds, Control &control)
{
    RankCuts cuts(ranks, boxes);
    return Placing<RankCuts>(tree, index, cuts, kinds).run(boxes.samples(), control);
}

std::vector<PlacedNode> placeGaps(CutTree const &tree, Span<Gap const> gaps, BoxesAround const &boxes,
                                  FeatureKinds const &kinds, Control &control)
{
    NumberCuts cuts(boxes);
    auto cut = Array<double>(tree.feature.size());
    for (Index node = 0; node != cut.size(); ++node)
    {
        if (tree.left[node] < 0)
            continue;
        if (!cuts.isBetweenClusters(tree.feature[node], gaps[node]))
            return {};
        cut[node] = midpoint(gaps[node].last, gaps[node].first);
    }
    return Placing<NumberCuts>(tree, cut.view(), cuts, kinds).run(boxes.samples(), control);
}
}  // namespace hardwood
