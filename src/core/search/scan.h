// Stump scans: the best single split of weighted samples on one feature, the inner loop of everything.
//
// With the left leaf labelled a and the right leaf labelled c, a sample of class a is right iff it cannot reach right
// (`upper <= t`), one of class c iff it cannot reach left (`lower > t`), all others are wrong. Going through the ends
// in order (lower before upper where they tie), the weight that is right rises at an upper end of class a and falls at
// a lower end of class c; every local maximum is a real threshold, or a plain leaf at either end of the order. No
// sample is counted twice, so the maximum is exact.
//
// Many classes. With L_a(t) the weight of class a that cannot reach right and R_c(t) that of class c that cannot reach
// left, the best split is the largest max_a L_a(t) + max_c R_c(t). Along the order L only grows, and only the class
// that has just grown can become the largest; from the other end the same holds for R. So a scan costs the same however
// many classes there are. Nothing forbids a = c in it: such a "split" gets no more right than a plain leaf of class a,
// and a plain leaf is preferred to a split that is no better.
//
// Both children of a split are scanned at once (see Sides); the weights of the samples differ, the order does not.
#pragma once

#include <algorithm>

#include "search/sides.h"

namespace hardwood::search
{
// The largest weight that one split gets right under the labelling (0, 1), and under (1, 0).
template <class Number>
struct TwoLabellings
{
    Sides<Number> best01;
    Sides<Number> best10;
};

// Two classes. `rising` lists the samples in the order of their events under the labelling (0, 1): upper ends of class
// 0, lower ends of class 1; `falling` those of the labelling (1, 0). `signedWeight` is negative for class 1, so that
// both kinds of event are one addition. The value before the first event is what a plain leaf gets right. The order is
// walked in two halves at once: a processor adds faster than it can wait for the last sum.
template <class Number>
TwoLabellings<Number> scanTwoClasses(Span<Sample const> rising, Span<Sample const> falling,
                                     Span<Sides<Number> const> signedWeight, Sides<Number> total0, Sides<Number> total1)
{
    Running<Number> first01{total1, total1};
    Running<Number> first10{total0, total0};
    Running<Number> second01;
    Running<Number> second10;
    auto const half = rising.size() / 2;
    for (Index k = 0; k < half; ++k)
    {
        first01.add(signedWeight[rising[k]]);
        first10.subtract(signedWeight[falling[k]]);
        second01.add(signedWeight[rising[half + k]]);
        second10.subtract(signedWeight[falling[half + k]]);
    }
    first01.append(second01);
    first10.append(second10);
    if (2 * half < rising.size())
    {
        first01.add(signedWeight[rising[2 * half]]);
        first10.subtract(signedWeight[falling[2 * half]]);
    }
    return {first01.most, first10.most};
}

// The first place in the order after which the running weight of a side equals `value`.
template <class Number>
Index placeOf(Span<Sample const> order, Span<Sides<Number> const> signedWeight, Index side, Weight sign, Weight start,
              Weight value)
{
    auto const find = [&](auto weightOf)
    {
        auto const wanted = static_cast<Number>(sign * (value - start));
        auto const at = [&](Index k) { return weightOf(signedWeight[order[k]]); };
        Number sum = 0;
        Index k = 0;
        // Four at a time, so that no sum waits for the one before; sums of whole numbers are exact in any order.
        for (; k + 4 <= order.size(); k += 4)
        {
            auto const one = sum + at(k);
            auto const two = at(k) + at(k + 1);
            auto const four = two + (at(k + 2) + at(k + 3));
            auto const isThere = (one == wanted) | (sum + two == wanted) | (sum + (two + at(k + 2)) == wanted);
            if (isThere | (sum + four == wanted))
                break;
            sum += four;
        }
        for (; k < order.size(); ++k)
        {
            sum += weightOf(signedWeight[order[k]]);
            if (sum == wanted)
                return k;
        }
        throw std::logic_error("a scan reached a weight that its order does not reach");
    };
    return side == 0 ? find([](Sides<Number> const &w) { return w.left(); })
                     : find([](Sides<Number> const &w) { return w.right(); });
}

// The ends of one feature for many classes: places by upper end, for each of them how many lower ends stand before it,
// and places by lower end.
struct EndOrders
{
    Span<Sample const> byUpper;
    Span<Sample const> lowersBefore;
    Span<Sample const> byLower;
};

// Certain samples of both children, for a least size of leaves: by place, and how many a leaf needs (0: none).
template <class Number>
struct CertainCounts
{
    Span<Sides<Number> const> of;
    Index needed = 0;
};

// A number for "not allowed": with all weight of a child added (less than 2^62, see problem.h) it is still negative.
template <class Number>
inline constexpr Number never = -static_cast<Number>(Weight{1} << 62);

// The largest weight that one split gets right, whatever its labels; negative where no split is allowed. `rightMost`
// (one entry more than there are samples) and `sums` (one per class) are scratch.
template <bool withMinLeaf, class Number>
Sides<Number> scanManyClasses(EndOrders const &orders, Span<Label const> label, Span<Sides<Number> const> weight,
                              CertainCounts<Number> const &certain, Span<Sides<Number>> rightMost,
                              Span<Sides<Number>> sums)
{
    auto const n = orders.byUpper.size();
    auto const needed = static_cast<Number>(certain.needed);
    // Where too few are certain, the weight that is right counts as less than nothing.
    auto const allowed = [needed](Sides<Number> count, Sides<Number> value)
    {
        return Sides<Number>(count.left() < needed ? never<Number> : value.left(),
                             count.right() < needed ? never<Number> : value.right());
    };
    Sides<Number> most;
    Sides<Number> count;
    std::fill(sums.begin(), sums.end(), Sides<Number>());
    rightMost[n] = withMinLeaf ? allowed(count, most) : most;
    for (Index k = n - 1; k >= 0; --k)
    {
        auto const i = orders.byLower[k];
        auto &sum = sums[label[i]];
        sum = sum + weight[i];
        most = larger(most, sum);
        rightMost[k] = most;
        if constexpr (withMinLeaf)
        {
            count = count + certain.of[i];
            rightMost[k] = allowed(count, most);
        }
    }
    most = count = Sides<Number>();
    Sides<Number> best(withMinLeaf ? never<Number> : Number{0});
    std::fill(sums.begin(), sums.end(), Sides<Number>());
    for (Index k = 0; k < n; ++k)
    {
        auto const i = orders.byUpper[k];
        auto &sum = sums[label[i]];
        sum = sum + weight[i];
        most = larger(most, sum);
        auto value = most + rightMost[orders.lowersBefore[k]];
        if constexpr (withMinLeaf)
        {
            count = count + certain.of[i];
            value = allowed(count, value);
        }
        best = larger(best, value);
    }
    return best;
}

// Where a scan found its best split for one side: after which entry of `byUpper`, and the labels.
struct SplitPlace
{
    Index entry = -1;
    Label left = 0;
    Label right = 0;
};

// The first place at which the scan of many classes has this value; `rightMost` is as the scan left it.
template <bool withMinLeaf, class Number>
SplitPlace placeOfManyClasses(EndOrders const &orders, Span<Label const> label, Span<Sides<Number> const> weight,
                              CertainCounts<Number> const &certain, Index side, Weight value,
                              Span<Sides<Number>> rightMost, Span<Sides<Number>> sums)
{
    static_cast<void>(scanManyClasses<withMinLeaf>(orders, label, weight, certain, rightMost, sums));
    std::fill(sums.begin(), sums.end(), Sides<Number>());
    auto const heaviest = [&]
    {
        Index best = 0;
        for (Index c = 1; c < sums.size(); ++c)
            if (sums[c].of(side) > sums[best].of(side))
                best = c;
        return static_cast<Label>(best);
    };
    Weight most = 0;
    Weight count = 0;
    for (Index k = 0; k < orders.byUpper.size(); ++k)
    {
        auto const i = orders.byUpper[k];
        auto &sum = sums[label[i]];
        sum = sum + weight[i];
        most = std::max(most, sum.of(side));
        if constexpr (withMinLeaf)
            count += certain.of[i].of(side);
        if (most + rightMost[orders.lowersBefore[k]].of(side) != value || (withMinLeaf && count < certain.needed))
            continue;
        SplitPlace place{k, heaviest(), 0};
        std::fill(sums.begin(), sums.end(), Sides<Number>());
        for (Index m = orders.lowersBefore[k]; m < orders.byLower.size(); ++m)
            sums[label[orders.byLower[m]]] = sums[label[orders.byLower[m]]] + weight[orders.byLower[m]];
        place.right = heaviest();
        return place;
    }
    throw std::logic_error("a scan found a weight that its order does not reach");
}
}  // namespace hardwood::search
