// How far the nearest wrong answer of a tree is, and which multiple of an attack reaches it.
//
// The leaves of a tree are half-open boxes (low, high], its regions. To enter a region, a sample must move on every
// feature on which it stands outside, by the distance to the region's nearer side; in L-infinity the largest of these
// distances counts, and the nearest wrong region is found by looking at all of them. Since a region does not contain
// its lower side, the nearest point of it is the next number above.
//
// A multiple r of an attack stays out of a region as long as one feature keeps out: its lower end x - rΔ - ν above the
// region's upper side, or its upper end at most the lower side. The largest r of each feature is found by the quotient
// of way and radius, less the noise, and stepped back where rounding carries the end across all the same.
#pragma once

#include "ends.h"
#include "walk/walk.h"

namespace hardwood
{
struct Regions
{
    Grid<double const> low;
    Grid<double const> high;
    Span<Index const> label;
};

struct PointsUnderAttack
{
    Grid<double const> X;
    AttackedSamples boxes;
};

// Write the L-infinity-nearest point inside each sample's box that lies in a region of another label, and its distance;
// NaN and infinity where no move can change the answer. False where the Control stopped it.
bool nearestWrongPoints(Regions const &regions, PointsUnderAttack const &samples, Grid<double> point,
                        Span<double> distance, Control &control);

// Write the largest multiple of the attack under which each sample keeps out of all regions of another label: minus
// infinity for one that stands in such a region, infinity where no multiple leads into one. False where stopped.
bool largestFactors(Regions const &regions, Attacked const &samples, Span<Index const> label, Span<double> factor,
                    Control &control);
}  // namespace hardwood
