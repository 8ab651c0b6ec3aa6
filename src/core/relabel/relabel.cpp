#include "relabel/relabel.h"

namespace hardwood
{
namespace
{
class Labelling
{
    LeafGroups const &groups_;
    Index nLeaves_;
    Array<Index> lostAt_;  // one more than the depth at which each group was lost; 0: not lost
    Array<double> table_;  // weight not lost yet by (leaf, class), each group at its first open leaf
    Array<Index> tried_;   // per depth: how many labels of the leaf have been tried
    Array<Index> choice_;  // per depth: the label taken
    Array<double> cost_;   // per depth: what is lost before that leaf is labelled

    // Take a label for the leaf at `depth`; return the weight lost then.
    double label(Index depth, Index c)
    {
        double lost = cost_[depth];
        for (Index g = 0; g != groups_.size(); ++g)
        {
            auto const leaves = groups_.leavesOf(g);
            if (lostAt_[g] == 0 && groups_.label[g] != c &&
                std::find(leaves.begin(), leaves.end(), depth) != leaves.end())
            {
                lostAt_[g] = depth + 1;
                lost += groups_.weight[g];
            }
        }
        return lost;
    }

    // Undo the label of the leaf at `depth`.
    void undo(Index depth)
    {
        for (Index g = 0; g != groups_.size(); ++g)
            if (lostAt_[g] == depth + 1)
                lostAt_[g] = 0;
    }

    // Weight that will be lost at the leaves `from`, ... whatever their labels, on top of `lost`.
    double bound(Index from, double lost)
    {
        std::fill(table_.begin(), table_.end(), 0.0);
        for (Index g = 0; g != groups_.size(); ++g)
        {
            if (lostAt_[g] != 0)
                continue;
            for (Index const leaf : groups_.leavesOf(g))
                if (leaf >= from)
                {
                    table_[leaf * groups_.nClasses + groups_.label[g]] += groups_.weight[g];
                    break;
                }
        }
        for (Index leaf = from; leaf != nLeaves_; ++leaf)
        {
            double total = 0.0, heaviest = 0.0;
            for (Index c = 0; c != groups_.nClasses; ++c)
            {
                double const weight = table_[leaf * groups_.nClasses + c];
                total += weight;
                heaviest = std::max(heaviest, weight);
            }
            lost += total - heaviest;
        }
        return lost;
    }

public:
    Labelling(LeafGroups const &groups, Index nLeaves)
        : groups_(groups),
          nLeaves_(nLeaves),
          lostAt_(groups.size()),
          table_(nLeaves * groups.nClasses),
          tried_(nLeaves + 1),
          choice_(nLeaves + 1),
          cost_(nLeaves + 1)
    {
    }

    bool search(double most, Index maxNodes, Span<Index> best, Ticker &stop)
    {
        Index const work = groups_.leaf.size() + nLeaves_ * groups_.nClasses;
        Index depth = 0;
        for (Index seen = 0;;)
        {
            if (depth == nLeaves_ || tried_[depth] == groups_.nClasses)
            {
                if (depth == nLeaves_ && cost_[depth] < most)
                {
                    most = cost_[depth];
                    std::copy(choice_.begin(), choice_.begin() + nLeaves_, best.begin());
                }
                tried_[depth] = 0;
                if (depth == 0)
                    return true;
                undo(--depth);
                continue;
            }
            if (++seen > maxNodes || stop(work))
                return false;
            Index const c = tried_[depth]++;
            double const lost = label(depth, c);
            if (bound(depth + 1, lost) < most)
            {
                choice_[depth] = c;
                cost_[++depth] = lost;
            }
            else
                undo(depth);
        }
    }
};
}  // namespace

bool tryLabelings(LeafGroups const &groups, double most, Index maxNodes, Span<Index> best, Control &control)
{
    Ticker stop(control, 1 << 16);
    return Labelling(groups, best.size()).search(most, maxNodes, best, stop);
}
}  // namespace hardwood
