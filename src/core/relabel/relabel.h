// A branch and bound over the labels of the leaves of a fixed tree.
//
// Samples of one class that reach the same leaves are a group; a group is lost iff one of its leaves has another label.
// Leaves are labelled one after the other. What is lost so far is lost for good; and at every leaf still open, of the
// groups not lost that meet it *first* (each group counts at one leaf only) all but the heaviest class will be lost.
// The sum is a lower bound on what any completion loses, so a partial labelling whose bound is not below the best known
// cost is left.
#pragma once

#include "control.h"
#include "span.h"

namespace hardwood
{
struct LeafGroups
{
    Span<Index const> begin;  // the leaves of group g, increasing: leaf[begin[g]], ..., leaf[begin[g + 1] - 1]
    Span<Index const> leaf;
    Span<Index const> label;
    Span<double const> weight;
    Index nClasses;

    [[nodiscard]] Index size() const { return label.size(); }
    [[nodiscard]] Span<Index const> leavesOf(Index g) const { return leaf.part(begin[g], begin[g + 1] - begin[g]); }
};

// Search labels that lose less than `most` and write the best into `best`; return whether the search came to its end
// rather than to `maxNodes` partial labellings or to the word of the Control. Either way `best` is what was found.
bool tryLabelings(LeafGroups const &groups, double most, Index maxNodes, Span<Index> best, Control &control);
}  // namespace hardwood
