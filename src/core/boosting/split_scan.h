// The split of each node that lowers a loss of worst-case margins most, for all nodes of one level at once.
//
// A sample i of sign y = +1 or -1 has the worst-case margin m_i. A new leaf of value v moves it by y v; a sample whose
// box reaches both sides of a split is moved by the worse of the two, min(y v_l, y v_r). To second order, with
// g_i = -w_i loss'(m_i) > 0 and h_i = w_i loss''(m_i), moving a group of samples by v gains
//
//     sum_i g_i y_i v  -  (sum_i h_i + l2) v^2 / 2,   at best  S^2 / (2 (H + l2))  at  v = S / (H + l2).
//
// Which side is the worse one depends on the order of the two values only: if v_l < v_r ("rising"), samples of sign +1
// that reach both count on the left and those of sign -1 on the right; if v_l > v_r, the reverse. So each threshold has
// two candidates, each a sum of two such terms, and each counts only if its values come out in the order that was
// assumed. (Chen & Guestrin, KDD 2016, without an attacker; the worst-case margin: Andriushchenko & Hein, NeurIPS
// 2019.)
//
// The ends of all samples are sorted once. One pass over the ends of a feature serves all nodes: each keeps the sums of
// its own samples that cannot reach right, that reach both sides, and that cannot reach left. Thresholds that are worth
// a look lie between an upper end and a lower one that follows it among the samples of the node: whatever the two
// values are, any other threshold leaves no sample a larger margin than one of these (sweep.h says why).
#pragma once

#include "control.h"
#include "span.h"

namespace hardwood
{
// All ends of one feature in increasing order: their ranks, and whose they are.
struct EndsInOrder
{
    Span<std::int32_t const> lowerRank;
    Span<std::int32_t const> lowerSample;
    Span<std::int32_t const> upperRank;
    Span<std::int32_t const> upperSample;
};

// What a scan reads of a sample, in one place: samples come in the order of their ends, which is none in memory.
struct PricedSample
{
    double slope;       // y_i g_i
    double curvature;   // h_i
    std::int32_t node;  // in which node the sample counts; -1 for none
    bool positive;      // y_i = +1
};

struct ScannedSplit
{
    double gain = 0.0;
    std::int32_t index = -1;  // left iff lower rank <= index; -1 and gain 0 where no split is any good
    bool rising = false;      // whether the right leaf has the larger value
};

// Write the best split of every node on one feature; nothing but empty splits where the Control stops it.
void scanSplits(EndsInOrder const &ends, Span<PricedSample const> samples, double l2, Span<ScannedSplit> best,
                Control &control);
}  // namespace hardwood
