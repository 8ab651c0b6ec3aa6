// TREANT's best split of one feature, in closed form.
//
// With labels 0 and 1, predictions in [0, 1] and a loss that grows with the distance from the label (squared or
// logistic), the worse of two leaves for class 0 is the one with the larger prediction, for class 1 the one with the
// smaller. So where the left prediction a is the larger one, the loss under attack (Calzavara, Lucchese, Tolomei, Abebe
// & Orlando, "TREANT", Data Mining and Knowledge Discovery 34, 2020) is a sum of one convex function of each
// prediction,
//
//     (L0 + U0) l(a, 0) + L1 l(a, 1)   +   R0 l(c, 0) + (R1 + U1) l(c, 1),        a >= c
//
// (L, R, U: weights certainly left, certainly right, undecided), and symmetrically where it is the smaller one. Each
// half has its minimum at a mean, also under bounds on a and c, which is what attack invariance amounts to; where a >=
// c is violated, a convex function's constrained minimum lies on a = c. No iterative solver is needed.
#pragma once

#include "control.h"
#include "greedy/growing.h"

namespace hardwood
{
struct TwoWeights
{
    double zeros = 0.0;  // of class 0
    double ones = 0.0;   // of class 1
};

struct Bounds
{
    double low = 0.0;
    double high = 1.0;
};

// The logistic loss of a prediction closer than this to 0 or 1 is that of this distance, as in the published code.
inline constexpr double logisticClip = 1e-15;

// The loss of a prediction.
double lossOf(double prediction, TwoWeights weights, bool logistic);

// Weights certainly left, certainly right and undecided at a split, bounds on both predictions, and what a leaf
// predicts of which no sample asks anything.
struct TreantSplit
{
    TwoWeights left;
    TwoWeights right;
    TwoWeights both;
    Bounds leftBounds;
    Bounds rightBounds;
    double start;
};

struct Predictions
{
    double loss;
    double left;
    double right;
};

// The least loss under attack, infinite if the bounds leave none, and the predictions that reach it.
Predictions bestPredictions(TreantSplit const &split, bool logistic);

// The samples of a node on one feature, and the constraints that attacked samples left behind: wherever such an
// interval reaches, the prediction is at most (`isUpper`) or at least its bound.
struct TreantFeature
{
    Span<std::int32_t const> low;  // ranks of the samples' intervals
    Span<std::int32_t const> high;
    Span<Index const> label;
    Span<double const> weight;
    Span<std::int32_t const> ruleLow;
    Span<std::int32_t const> ruleHigh;
    Span<Index const> ruleIsUpper;
    Span<double const> ruleBound;
    RankRegion inside;
    double start;  // prediction of the node as a leaf
};

struct TreantThreshold
{
    Predictions predictions;
    Index index = -1;
    Index following = -1;  // the next lower end
};

// The best threshold of a feature; infinite loss where there is none, or where the Control stopped it.
TreantThreshold bestThreshold(TreantFeature const &feature, bool logistic, Control &control);
}  // namespace hardwood
