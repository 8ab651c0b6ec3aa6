// Stump scans: the best single split of weighted samples on one feature, the inner loop of everything.
//
// With the left leaf labelled a and the right leaf labelled c, a sample of class a is right iff it cannot reach right
// (`upper <= t`), one of class c iff it cannot reach left (`lower > t`), all others are wrong. Going through the ends
// in order (lower before upper where they tie), the weight that is right rises at an upper end of class a and falls at
// a lower end of class c; every local maximum is a real threshold, or a plain leaf at either end of the order. No
// sample is counted twice, so the maximum is exact.
#pragma once

#include <algorithm>

#include "search/problem.h"

namespace hardwood::search
{
// The largest weight that one split gets right under the labelling (0, 1), and under (1, 0).
struct TwoLabellings
{
    Weight best01;
    Weight best10;
};

// Two classes. `rising` lists the samples in the order of their events under the labelling (0, 1): upper ends of class
// 0, lower ends of class 1; `falling` those of the labelling (1, 0). `signedWeight` is negative for class 1, so that
// both kinds of event are one addition. The value before the first event is what a plain leaf gets right.
inline TwoLabellings scanTwoClasses(Span<Sample const> rising, Span<Sample const> falling,
                                    Span<Weight const> signedWeight, Weight total0, Weight total1)
{
    Weight right01 = total1;
    Weight right10 = total0;
    TwoLabellings best{right01, right10};
    for (Index k = 0; k < rising.size(); ++k)
    {
        right01 += signedWeight[rising[k]];
        best.best01 = std::max(best.best01, right01);
        right10 -= signedWeight[falling[k]];
        best.best10 = std::max(best.best10, right10);
    }
    return best;
}

// The first place in the order after which the running weight equals `value`; -1 where no event is needed.
inline Index placeOf(Span<Sample const> order, Span<Weight const> signedWeight, Weight sign, Weight start, Weight value)
{
    Weight right = start;
    if (right == value)
        return -1;
    for (Index k = 0; k < order.size(); ++k)
    {
        right += sign * signedWeight[order[k]];
        if (right == value)
            return k;
    }
    throw std::logic_error("a scan reached a weight that its order does not reach");
}

// The best split for any number of classes: the weight that is right (-1: no split is allowed), after which event, and
// the labels.
struct BestSplit
{
    Weight right = -1;
    Index event = -1;
    Label leftLabel = 0;
    Label rightLabel = 0;
};

// The weight per class that certainly goes right, and caps on it: `largest` on all classes, `second` on all but the
// class that was largest. Weight only ever leaves the right side, so caps of an earlier event still hold, and most
// events are dismissed by one comparison instead of one per class.
class RightSide
{
    Span<Weight> weight_;
    Index largestClass_ = -1;
    Weight largest_ = 0;
    Weight second_ = 0;

public:
    RightSide(Span<Weight> scratch, Span<Weight const> total) : weight_(scratch)
    {
        std::copy(total.begin(), total.end(), weight_.begin());
        refresh();
    }

    void refresh()
    {
        largestClass_ = 0;
        for (Index c = 1; c < weight_.size(); ++c)
            if (weight_[c] > weight_[largestClass_])
                largestClass_ = c;
        largest_ = weight_[largestClass_];
        second_ = -1;
        for (Index c = 0; c < weight_.size(); ++c)
            if (c != largestClass_)
                second_ = std::max(second_, weight_[c]);
    }

    void take(Index label, Weight weight) { weight_[label] -= weight; }
    [[nodiscard]] Weight operator[](Index label) const { return weight_[label]; }
    [[nodiscard]] Weight capWithout(Index label) const { return label == largestClass_ ? second_ : largest_; }
};

// Samples that certainly reach a child, for `minLeaf`.
struct CertainCounts
{
    Span<Index const> of;  // by sample
    Index total = 0;
    Index needed = 0;
};

// Compare all right labels for one left label; the first of equals wins.
inline void tryLabels(BestSplit &best, Index event, Index leftLabel, Weight left, RightSide const &right,
                      Index nClasses)
{
    for (Index d = 0; d < nClasses; ++d)
        if (d != leftLabel && left + right[d] > best.right)
            best = {left + right[d], event, static_cast<Label>(leftLabel), static_cast<Label>(d)};
}

// Any number of classes; `events` hold places in the node. With `withMinLeaf` both leaves need so many certain samples.
template <bool withMinLeaf>
BestSplit scanManyClasses(Span<Event const> events, Span<Label const> label, Span<Weight const> weight,
                          Span<Weight const> total, CertainCounts const &certain, Span<Weight> scratch)
{
    auto const nClasses = total.size();
    auto const left = scratch.part(0, nClasses);
    std::fill(left.begin(), left.end(), Weight{0});
    RightSide right(scratch.part(nClasses, nClasses), total);
    BestSplit best;
    Index certainLeft = 0;
    Index certainRight = certain.total;
    bool isFirst = withMinLeaf;  // only then does more than the class that came last have to be looked at
    for (Index k = 0; k < events.size(); ++k)
    {
        auto const i = events[k].sample();
        Index const c = label[i];
        if (!events[k].isUpper())
        {
            right.take(c, weight[i]);
            if constexpr (withMinLeaf)
            {
                certainRight -= certain.of[i];
                if (certainRight < certain.needed)
                    break;
            }
            continue;
        }
        left[c] += weight[i];
        if constexpr (withMinLeaf)
        {
            certainLeft += certain.of[i];
            if (certainLeft < certain.needed)
                continue;
        }
        if (isFirst)
        {
            for (Index a = 0; a < nClasses; ++a)
                tryLabels(best, k, a, left[a], right, nClasses);
            isFirst = false;
        }
        else if (left[c] + right.capWithout(c) > best.right)
        {
            right.refresh();
            if (left[c] + right.capWithout(c) > best.right)
                tryLabels(best, k, c, left[c], right, nClasses);
        }
    }
    return best;
}
}  // namespace hardwood::search
