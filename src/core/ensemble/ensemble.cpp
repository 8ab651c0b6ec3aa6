#include "ensemble/ensemble.h"

#include <cmath>
#include <limits>

namespace hardwood
{
namespace
{
constexpr double infinity = std::numeric_limits<double>::infinity();

void addVotes(Forest const &forest, Span<double const> point, Span<Index> votes)
{
    for (Index const root : forest.begin)
    {
        Index node = root;
        while (!forest.nodes[node].isLeaf())
        {
            auto const &here = forest.nodes[node];
            node = point[here.feature] <= here.threshold ? here.left : here.right;
        }
        ++votes[forest.nodes[node].label];
    }
}

// By how many votes the strongest rival leads, in halves: positive iff the answer is wrong. A tie goes to the class
// that comes first.
Index margin(Span<Index const> votes, Index truth)
{
    Index best = std::numeric_limits<Index>::min();
    for (Index c = 0; c != votes.size(); ++c)
        if (c != truth)
            best = std::max(best, 2 * (votes[c] - votes[truth]) + (c < truth ? 1 : -1));
    return best;
}

// Whether no rival wins a box even if every tree may be given a point of its own.
class Certificate
{
    Forest const &forest_;
    Array<std::int32_t> stack_;
    Array<bool> seen_;
    Array<Index> lead_;  // of each class over the truth, at most

public:
    explicit Certificate(Forest const &forest)
        : forest_(forest),
          stack_(Array<std::int32_t>::unwritten(forest.nodes.size())),
          seen_(forest.nClasses),
          lead_(forest.nClasses)
    {
    }

    bool holds(Box<double> const &box, Index truth)
    {
        std::fill(lead_.begin(), lead_.end(), Index{0});
        for (Index const root : forest_.begin)
        {
            std::fill(seen_.begin(), seen_.end(), false);
            bool onlyTruth = true;
            visitLeaves(forest_.nodes, root, box, stack_.view(),
                        [&](Index leaf)
                        {
                            auto const label = forest_.nodes[leaf].label;
                            seen_[label] = true;
                            onlyTruth = onlyTruth && label == truth;
                            return false;
                        });
            for (Index c = 0; c != lead_.size(); ++c)
                lead_[c] += seen_[c] ? 1 : onlyTruth ? -1 : 0;
        }
        for (Index c = 0; c != lead_.size(); ++c)
            if (c != truth && (lead_[c] > 0 || (lead_[c] == 0 && c < truth)))
                return false;
        return true;
    }
};

// A search from one point, feature by feature.
class Attacker
{
    Forest const &forest_;
    Cuts const &cuts_;
    Array<Index> votes_;

    Index marginAt(Span<double const> point, Index truth)
    {
        std::fill(votes_.begin(), votes_.end(), Index{0});
        addVotes(forest_, point, votes_);
        return margin(votes_, truth);
    }

    // Move feature j to the value in [lower, upper] with the largest margin, if that is larger than `best`: one value
    // in every cell between thresholds, its lower end or just above the cut below. Whether it was.
    bool moveFeature(Span<double> point, Index j, double lower, double upper, Index truth, Index &best)
    {
        double const kept = point[j];
        double chosen = kept;
        bool improved = false;
        auto const attempt = [&](double value)
        {
            point[j] = value;
            if (Index const found = marginAt(point, truth); found > best)
            {
                best = found;
                chosen = value;
                improved = true;
            }
        };
        auto const cuts = cuts_.cut.part(cuts_.offset[j], cuts_.offset[j + 1] - cuts_.offset[j]);
        // Below all cuts any number does where the box has no lower end.
        attempt(lower > -infinity ? lower : cuts.empty() ? kept : std::min(kept, cuts[0]));
        for (double const cut : cuts)
        {
            if (cut >= upper)
                break;
            if (cut >= lower)
                attempt(std::nextafter(cut, infinity));
        }
        point[j] = chosen;
        return improved;
    }

public:
    Attacker(Forest const &forest, Cuts const &cuts) : forest_(forest), cuts_(cuts), votes_(forest.nClasses) {}

    // Move the point until it is misclassified or nothing helps; whether it is misclassified.
    bool search(Span<double> point, Box<double> const &box, Index truth, Ticker &stop)
    {
        Index best = marginAt(point, truth);
        for (bool improved = true; best <= 0 && improved;)
        {
            improved = false;
            for (Index j = 0; j != point.size() && best <= 0; ++j)
            {
                improved |= moveFeature(point, j, box.lower[j], box.upper[j], truth, best);
                if (stop((cuts_.offset[j + 1] - cuts_.offset[j] + 1) * forest_.begin.size()))
                    return best > 0;
            }
        }
        return best > 0;
    }
};
}  // namespace

bool countVotes(Forest const &forest, Grid<double const> X, Grid<Index> out, Control &control)
{
    Ticker stop(control);
    std::fill(out.all().begin(), out.all().end(), Index{0});
    for (Index i = 0; i != X.rows(); ++i)
    {
        addVotes(forest, X.row(i), out.row(i));
        if (stop(forest.begin.size()))
            return false;
    }
    return true;
}

bool certify(Forest const &forest, ForestSamples const &samples, Span<bool> out, Control &control)
{
    Ticker stop(control);
    Certificate certificate(forest);
    std::fill(out.begin(), out.end(), false);
    for (Index i = 0; i != samples.lower.rows(); ++i)
    {
        auto const truth = samples.truth[i];
        out[i] = truth >= 0 && certificate.holds({samples.lower.row(i), samples.upper.row(i)}, truth);
        if (stop(forest.begin.size()))
            return false;
    }
    return true;
}

bool attack(Forest const &forest, ForestSamples const &samples, Cuts const &cuts, Span<bool> out, Grid<double> point,
            Control &control)
{
    Ticker stop(control);
    Attacker attacker(forest, cuts);
    std::fill(out.begin(), out.end(), false);
    std::copy(samples.X.all().begin(), samples.X.all().end(), point.all().begin());
    for (Index i = 0; i != samples.X.rows(); ++i)
    {
        auto const truth = samples.truth[i];
        out[i] = truth < 0 || attacker.search(point.row(i), {samples.lower.row(i), samples.upper.row(i)}, truth, stop);
        if (control.stopRequested())
            return false;
    }
    return true;
}
}  // namespace hardwood
