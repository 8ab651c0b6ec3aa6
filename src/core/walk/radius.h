// How far the nearest wrong answer of a tree is.
//
// The leaves of a tree are half-open boxes (low, high], its regions. To enter a region, a sample must move on every
// feature on which it stands outside, by the distance to the region's nearer side; in L-infinity the largest of these
// distances counts, and the nearest wrong region is found by looking at all of them. Since a region does not contain
// its lower side, the nearest point of it is the next number above.
#pragma once

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
}  // namespace hardwood
