#include "greedy/adversarial_error.h"

#include <numeric>

#include "greedy/placement.h"
#include "reach.h"
#include "rng.h"
#include "sorting.h"
#include "sweep.h"

namespace hardwood
{
namespace
{
// A split must lower the loss by more than this share of the node's weight, i.e. by more than rounding errors do.
constexpr double noGain = 1e-12;

// A split with two labelled leaves, and the weight that it gets right.
struct Stump
{
    double weight = -1.0;
    Index index = -1;
    Index following = -1;  // the next lower end
    Index leftLabel = -1;
    Index rightLabel = -1;
    Index feature = -1;
};

struct BestTwo
{
    Index first;
    Index second;
};

// The positions of the largest and the second largest weight, the first of several.
template <Index classes>
BestTwo bestTwo(ClassWeights<classes> const &weights)
{
    if constexpr (classes == 2)
        return weights[1] > weights[0] ? BestTwo{1, 0} : BestTwo{0, 1};
    BestTwo best{0, -1};
    for (Index c = 1; c < weights.size(); ++c)
        if (weights[c] > weights[best.first])
            best.first = c;
    for (Index c = 0; c != weights.size(); ++c)
        if (c != best.first && (best.second < 0 || weights[c] > weights[best.second]))
            best.second = c;
    return best;
}

// Keeps, by class, the weight that cannot reach right and the weight that cannot reach left along a sweep.
template <Index classes>
class StumpScan
{
    Span<Index const> samples_;
    ErrorProblem const &problem_;
    ClassWeights<classes> left_;
    ClassWeights<classes> right_;

public:
    Stump best;

    StumpScan(Span<Index const> samples, ErrorProblem const &problem, ClassWeights<classes> const &totals)
        : samples_(samples), problem_(problem), left_(totals.size()), right_(totals)
    {
        left_.fill(0.0);
    }

    void passUpper(Index place) { left_[problem_.label[samples_[place]]] += problem_.weight[samples_[place]]; }
    void passLower(Index place) { right_[problem_.label[samples_[place]]] -= problem_.weight[samples_[place]]; }

    void visit(Index t, Index following, Index)
    {
        auto [a, a2] = bestTwo(left_);
        auto [c, c2] = bestTwo(right_);
        if (a == c)  // two equal labels would be a plain leaf
        {
            if (left_[a] + right_[c2] >= left_[a2] + right_[c])
                c = c2;
            else
                a = a2;
        }
        if (left_[a] + right_[c] > best.weight)
            best = {left_[a] + right_[c], t, following, a, c, -1};
    }
};

// The index of the threshold midway between cluster t and a later cluster of one feature.
Index inTheMiddle(Index t, Index following, Span<double const> first, Span<double const> last)
{
    if (t < 0 || following >= first.size())
        return t;
    double const middle = last[t] + (first[following] - last[t]) / 2;
    return std::upper_bound(first.begin(), first.end(), middle) - first.begin() - 1;
}

template <Index classes>
class ErrorGrowth
{
    ErrorProblem const &problem_;
    GrowthLimits limits_;
    Control &control_;
    Random random_;
    GrowingTree tree_;
    Index mostNodes_;
    std::vector<Index> members_;  // samples of the open nodes, those of the next one on top
    Array<Index> wrongLeaves_;    // per sample: how many leaves that it reaches have another label
    Array<Index> order_;          // of the features, those drawn first
    RankSorter sorter_;
    Array<std::int32_t> lower_, upper_, byLower_, byUpper_;

    // The samples of a node that its replacement can win or lose.
    [[nodiscard]] std::vector<Index> considered(GrowingNode const &node) const
    {
        std::vector<Index> samples;
        for (Index const i : Span<Index const>(members_).part(node.begin, node.end - node.begin))
            if (wrongLeaves_[i] == 0 || (wrongLeaves_[i] == 1 && problem_.label[i] != node.label))
                samples.push_back(i);
        return samples;
    }

    Stump bestStump(Span<Index const> samples, Index j, RankRegion inside, ClassWeights<classes> const &totals)
    {
        Index const m = samples.size();
        for (Index k = 0; k != m; ++k)
        {
            lower_[k] = problem_.lower(samples[k], j);
            upper_[k] = problem_.upper(samples[k], j);
        }
        auto const lower = lower_.view().part(0, m), upper = upper_.view().part(0, m);
        auto const byLower = byLower_.view().part(0, m), byUpper = byUpper_.view().part(0, m);
        sorter_.order(lower, byLower);
        sorter_.order(upper, byUpper);
        StumpScan<classes> scan(samples, problem_, totals);
        sweepThresholds({lower, upper, byLower, byUpper}, inside, scan);
        return scan.best;
    }

    // The best split of a node that is better than its leaf; none where the Control stopped the search.
    Stump bestSplit(Index node, Span<Index const> samples, ClassWeights<classes> const &totals, double enough)
    {
        Index const nFeatures = problem_.lower.columns();
        Stump best;
        best.weight = enough;
        for (Index place = 0; place != nFeatures && (place < limits_.maxFeatures || best.feature < 0); ++place)
        {
            if (control_.shouldStopOrPoll())
                return {};
            if (limits_.maxFeatures < nFeatures)
                random_.drawTo(place, order_);
            Index const j = order_[place];
            RankRegion const inside = tree_.region(node, j, problem_.nRanks(j));
            Stump found = bestStump(samples, j, inside, totals);
            if (found.weight <= best.weight)
                continue;
            auto const first = problem_.first.part(problem_.offset[j], problem_.nRanks(j));
            auto const last = problem_.last.part(problem_.offset[j], problem_.nRanks(j));
            found.index = std::min(inTheMiddle(found.index, found.following, first, last), inside.highest - 1);
            found.feature = j;
            best = found;
        }
        return best;
    }

    // Replace a leaf by a split. The node itself is done: its place among the members is taken by its children, the
    // left one on top.
    void split(Index node, Stump const &stump, Index nLeft, Index nRight)
    {
        GrowingNode const here = tree_[node];
        auto const begin = static_cast<std::ptrdiff_t>(here.begin), end = static_cast<std::ptrdiff_t>(here.end);
        std::vector<Index> const samples(members_.begin() + begin, members_.begin() + end);
        Index const top = here.begin + nLeft + nRight;
        if (top > static_cast<Index>(members_.size()))
            members_.resize(static_cast<std::size_t>(top));
        auto const right = Span<Index>(members_).part(here.begin, nRight);
        auto const left = Span<Index>(members_).part(here.begin + nRight, nLeft);
        Index atLeft = 0, atRight = 0;
        for (Index const i : samples)
        {
            wrongLeaves_[i] -= problem_.label[i] != here.label;
            if (reachesLeft(problem_.lower(i, stump.feature), stump.index))
            {
                left[atLeft++] = i;
                wrongLeaves_[i] += problem_.label[i] != stump.leftLabel;
            }
            if (reachesRight(problem_.upper(i, stump.feature), stump.index))
            {
                right[atRight++] = i;
                wrongLeaves_[i] += problem_.label[i] != stump.rightLabel;
            }
        }
        Index const child = tree_.split(node, stump.feature, stump.index);
        tree_[child].label = stump.leftLabel;
        tree_[child].begin = here.begin + nRight;
        tree_[child].end = top;
        tree_[child + 1].label = stump.rightLabel;
        tree_[child + 1].begin = here.begin;
        tree_[child + 1].end = here.begin + nRight;
    }

    // Split a node if that is worth it and allowed; whether it was.
    bool grow(Index node)
    {
        GrowingNode const here = tree_[node];
        if (here.depth >= limits_.maxDepth || tree_.size() + 2 > mostNodes_ || control_.stopRequested())
            return false;
        std::vector<Index> const samples = considered(here);
        ClassWeights<classes> totals(problem_.nClasses);
        for (Index const i : samples)
            totals[problem_.label[i]] += problem_.weight[i];
        double weightHere = 0.0;
        for (Index c = 0; c != totals.size(); ++c)
            weightHere += totals[c];
        if (static_cast<Index>(samples.size()) < limits_.minSamplesSplit || totals[here.label] >= weightHere)
            return false;
        Stump const best = bestSplit(node, samples, totals, totals[here.label] + noGain * weightHere);
        if (best.feature < 0)
            return false;
        Index nLeft = 0, nRight = 0;
        double weightLeft = 0.0, weightRight = 0.0;
        for (Index const i : Span<Index const>(members_).part(here.begin, here.end - here.begin))
        {
            bool const toLeft = reachesLeft(problem_.lower(i, best.feature), best.index);
            bool const toRight = reachesRight(problem_.upper(i, best.feature), best.index);
            nLeft += toLeft;
            nRight += toRight;
            weightLeft += toLeft ? problem_.weight[i] : 0.0;
            weightRight += toRight ? problem_.weight[i] : 0.0;
        }
        if (std::min(nLeft, nRight) < limits_.minSamplesLeaf ||
            std::min(weightLeft, weightRight) < limits_.minWeightLeaf)
            return false;
        split(node, best, nLeft, nRight);
        return true;
    }

public:
    ErrorGrowth(ErrorProblem const &problem, GrowthLimits limits, std::uint32_t seed, Control &control)
        : problem_(problem),
          limits_(limits),
          control_(control),
          random_(seed),
          tree_(problem.label.size()),
          // A split that only swaps samples can be worth its while, so depth alone does not bound a tree by its
          // samples.
          mostNodes_(std::min(Index{2} << std::min<Index>(limits.maxDepth, 40), 2 * problem.label.size()) + 1),
          members_(static_cast<std::size_t>(problem.label.size())),
          wrongLeaves_(problem.label.size()),
          order_(Array<Index>::unwritten(problem.lower.columns())),
          sorter_(problem.label.size()),
          lower_(Array<std::int32_t>::unwritten(problem.label.size())),
          upper_(Array<std::int32_t>::unwritten(problem.label.size())),
          byLower_(Array<std::int32_t>::unwritten(problem.label.size())),
          byUpper_(Array<std::int32_t>::unwritten(problem.label.size()))
    {
        std::iota(members_.begin(), members_.end(), Index{0});
        std::iota(order_.begin(), order_.end(), Index{0});
        ClassWeights<classes> totals(problem.nClasses);
        for (Index i = 0; i != problem.label.size(); ++i)
            totals[problem.label[i]] += problem.weight[i];
        Index heaviest = 0;
        for (Index c = 1; c < totals.size(); ++c)
            if (totals[c] > totals[heaviest])
                heaviest = c;
        tree_[0].label = heaviest;
        for (Index i = 0; i != problem.label.size(); ++i)
            wrongLeaves_[i] = problem.label[i] != heaviest;
    }

    GrowingTree run()
    {
        for (std::vector<Index> open{0}; !open.empty();)
        {
            Index const node = open.back();
            open.pop_back();
            if (grow(node))
            {
                open.push_back(tree_[node].right);
                open.push_back(tree_[node].left);
            }
        }
        return std::move(tree_);
    }
};
}  // namespace

GrowingTree growOnErrors(ErrorProblem const &problem, GrowthLimits limits, std::uint32_t seed, Control &control)
{
    if (problem.nClasses == 2)
        return ErrorGrowth<2>(problem, limits, seed, control).run();
    return ErrorGrowth<0>(problem, limits, seed, control).run();
}
}  // namespace hardwood
