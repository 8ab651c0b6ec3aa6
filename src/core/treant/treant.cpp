#include "treant/treant.h"

#include <cmath>
#include <limits>

#include "sorting.h"
#include "sweep.h"

namespace hardwood
{
namespace
{
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Squared
{
    static double loss(double prediction, TwoWeights w)
    {
        return w.zeros * (prediction * prediction) + w.ones * ((1.0 - prediction) * (1.0 - prediction));
    }
};

struct Logistic
{
    static double loss(double prediction, TwoWeights w)
    {
        double const p = std::min(std::max(prediction, logisticClip), 1.0 - logisticClip);
        return -w.zeros * std::log(1.0 - p) - w.ones * std::log(p);
    }
};

// The prediction within bounds with the least loss: both losses have their minimum at the mean.
double meanWithin(TwoWeights w, Bounds bounds, double otherwise)
{
    double const mean = w.zeros + w.ones > 0.0 ? w.ones / (w.zeros + w.ones) : otherwise;
    return std::min(std::max(mean, bounds.low), bounds.high);
}

struct Ordered
{
    double loss;
    double big;
    double small;
};

// Minimise over big >= small within the bounds.
template <class Loss>
Ordered ordered(TwoWeights atBig, TwoWeights atSmall, Bounds bigBounds, Bounds smallBounds, double start)
{
    if (bigBounds.low > bigBounds.high || smallBounds.low > smallBounds.high || bigBounds.high < smallBounds.low)
        return {infinity, start, start};
    double big = meanWithin(atBig, bigBounds, start), small = meanWithin(atSmall, smallBounds, start);
    if (big < small)
    {
        Bounds const common{std::max(bigBounds.low, smallBounds.low), std::min(bigBounds.high, smallBounds.high)};
        big = small = meanWithin({atBig.zeros + atSmall.zeros, atBig.ones + atSmall.ones}, common, start);
    }
    return {Loss::loss(big, atBig) + Loss::loss(small, atSmall), big, small};
}

template <class Loss>
Predictions bestOf(TreantSplit const &s)
{
    Ordered const one =
        ordered<Loss>({s.left.zeros + s.both.zeros, s.left.ones}, {s.right.zeros, s.right.ones + s.both.ones},
                      s.leftBounds, s.rightBounds, s.start);
    Ordered const other =
        ordered<Loss>({s.right.zeros + s.both.zeros, s.right.ones}, {s.left.zeros, s.left.ones + s.both.ones},
                      s.rightBounds, s.leftBounds, s.start);
    if (other.loss < one.loss)
        return {other.loss, other.small, other.big};
    return {one.loss, one.big, one.small};
}

double &ofClass(TwoWeights &weights, Index label)
{
    return label == 0 ? weights.zeros : weights.ones;
}

void tighten(Bounds &bounds, bool isUpper, double bound)
{
    if (isUpper)
        bounds.high = std::min(bounds.high, bound);
    else
        bounds.low = std::max(bounds.low, bound);
}

// Keeps weights and bounds of both sides along a sweep over samples (places 0, ..., m - 1) and rules (the rest).
template <class Loss>
class TreantScan
{
    TreantFeature const &feature_;
    TwoWeights totals_;
    TwoWeights left_;
    TwoWeights right_;
    Bounds leftBounds_;
    Array<Bounds> rightBounds_;  // by the rules whose interval ends at or after each place of the order of upper ends

    [[nodiscard]] Index nSamples() const { return feature_.low.size(); }

public:
    TreantThreshold best{{infinity, 0.0, 0.0}, -1, -1};

    TreantScan(TreantFeature const &feature, Span<std::int32_t const> byUpper)
        : feature_(feature), rightBounds_(byUpper.size() + 1)
    {
        best.predictions.left = best.predictions.right = feature.start;
        for (Index i = 0; i != nSamples(); ++i)
            ofClass(totals_, feature.label[i]) += feature.weight[i];
        right_ = totals_;
        for (Index k = byUpper.size(); k-- != 0;)
        {
            rightBounds_[k] = rightBounds_[k + 1];
            if (Index const rule = byUpper[k] - nSamples(); rule >= 0)
                tighten(rightBounds_[k], feature.ruleIsUpper[rule] != 0, feature.ruleBound[rule]);
        }
    }

    void passUpper(Index place)
    {
        if (place < nSamples())
            ofClass(left_, feature_.label[place]) += feature_.weight[place];
    }

    void passLower(Index place)
    {
        if (place < nSamples())
            ofClass(right_, feature_.label[place]) -= feature_.weight[place];
        else
            tighten(leftBounds_, feature_.ruleIsUpper[place - nSamples()] != 0, feature_.ruleBound[place - nSamples()]);
    }

    void visit(Index t, Index following, Index nUppers)
    {
        TwoWeights const both{totals_.zeros - left_.zeros - right_.zeros, totals_.ones - left_.ones - right_.ones};
        Predictions const found =
            bestOf<Loss>({left_, right_, both, leftBounds_, rightBounds_[nUppers], feature_.start});
        if (found.loss < best.predictions.loss)
            best = {found, t, following};
    }
};

Array<std::int32_t> joined(Span<std::int32_t const> a, Span<std::int32_t const> b)
{
    auto both = Array<std::int32_t>::unwritten(a.size() + b.size());
    std::copy(b.begin(), b.end(), std::copy(a.begin(), a.end(), both.begin()));
    return both;
}

template <class Loss>
TreantThreshold bestWith(TreantFeature const &feature, Control &control)
{
    auto const lower = joined(feature.low, feature.ruleLow), upper = joined(feature.high, feature.ruleHigh);
    RankSorter sorter(lower.size());
    auto byLower = Array<std::int32_t>::unwritten(lower.size()), byUpper = Array<std::int32_t>::unwritten(lower.size());
    sorter.order(lower, byLower);
    sorter.order(upper, byUpper);
    TreantScan<Loss> scan(feature, byUpper);
    if (!control.shouldStopOrPoll())
        sweepThresholds({lower, upper, byLower, byUpper}, feature.inside, scan);
    return scan.best;
}
}  // namespace

double lossOf(double prediction, TwoWeights weights, bool logistic)
{
    return logistic ? Logistic::loss(prediction, weights) : Squared::loss(prediction, weights);
}

Predictions bestPredictions(TreantSplit const &split, bool logistic)
{
    return logistic ? bestOf<Logistic>(split) : bestOf<Squared>(split);
}

TreantThreshold bestThreshold(TreantFeature const &feature, bool logistic, Control &control)
{
    return logistic ? bestWith<Logistic>(feature, control) : bestWith<Squared>(feature, control);
}
}  // namespace hardwood
