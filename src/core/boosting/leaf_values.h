// Values of the leaves of a new tree that minimise the loss of worst-case margins, all samples counted exactly.
//
// If box i reaches the leaves R(i) of the new tree, its worst-case margin becomes
//
//     m_i(v) = rest_i + min_{l in R(i)} (offset_il + y_i v_l),
//
// with offsets 0 for a tree that is added to others by the sum of their minima, and for a stump the least that the
// other stumps on its feature contribute on each side of it (so that the sum of all stumps on one feature is minimised
// over the interval as one function). The minimum of functions that are linear in v is concave, and a decreasing convex
// loss of it is convex: so is
//
//     J(v) = sum_i w_i loss(m_i(v)) + l2/2 sum_l v_l^2.
//
// It is minimised along one direction after another: each direction moves the leaves of one group by the same amount.
// Groups of single leaves and of all leaves below each split suffice for stumps (the only kink is at v_l = v_r, and
// where neither leaf alone nor both together can improve, nothing can) and keep deeper trees from sticking at most
// kinks. Along a direction J is convex in one variable: its one-sided derivatives tell on which side the minimum lies,
// and Newton's steps, kept inside the bracket, find it. J never rises, so zeros as start are never beaten by nothing.
#pragma once

#include "control.h"
#include "span.h"

namespace hardwood
{
enum class BoostingLoss
{
    logistic = 0,     // log(1 + exp(-m))
    exponential = 1,  // exp(-m)
};

// The loss of a margin and its first two derivatives.
struct LossAt
{
    double value;
    double slope;
    double curvature;
};
[[nodiscard]] LossAt lossAt(BoostingLoss loss, double margin);

struct LeafProblem
{
    Span<double const> rest;
    Span<std::int8_t const> sign;
    Span<double const> weight;
    Span<Index const> start;  // sample i reaches leaf[start[i]], ..., leaf[start[i + 1] - 1]
    Span<std::int32_t const> leaf;
    Span<double const> offset;
    Span<Index const> groupStart;  // group g moves groupLeaf[groupStart[g]], ...
    Span<std::int32_t const> groupLeaf;
    BoostingLoss loss;
    double l2;
    double largest;  // no value beyond this, up or down
};

// Return J(v).
[[nodiscard]] double lossOfLeaves(LeafProblem const &problem, Span<double const> value);

// Improve the values in so many rounds over all groups, or until a round changes next to nothing; return J.
double fitLeaves(LeafProblem const &problem, Span<double> value, Index rounds, Control &control);
}  // namespace hardwood
