// A lower bound on the margin in a box, made tighter by messages between trees.
//
// The sum over factors of their least reachable leaf is a lower bound, which suffers because each factor chooses a
// point of its own. Let every factor f pay lambda[f, j](c) for choosing cell c of feature j, where over the factors
// that ask for j these prices sum to 0 at every cell: then they change no margin, but the bound
//
//     constant + sum_f min_leaf ( value + sum_j min_{c in leaf} lambda[f, j](c) )
//
// grows where the factors' choices come to agree. Feature by feature, the least cost of every factor at each cell (its
// min-marginal) is replaced by the mean over the factors, which never lowers the bound: max-sum diffusion, block
// coordinate ascent on the dual of the local relaxation (Werner, "A Linear Programming Approach to Max-Sum Problem",
// PAMI 2007). One factor for each feature alone makes stumps exact after one pass.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ensemble_scores/box_problem.h"

namespace hardwood
{
class Messages
{
public:
    // Where `shouldStop` says so, a refresh or a sweep ends early; then bounds mean nothing until the next refresh.
    Messages(BoxProblem const &problem, std::function<bool()> shouldStop);

    [[nodiscard]] Index features() const { return static_cast<Index>(low_.size()); }
    [[nodiscard]] std::int32_t low(Index feature) const { return low_[at(feature)]; }
    [[nodiscard]] std::int32_t high(Index feature) const { return high_[at(feature)]; }

    // Take another part of the box: first and last cell of a feature. Prices stay, they hold for every part; call
    // `refresh` before anything else.
    void setRange(Index feature, std::int32_t low, std::int32_t high);
    void refresh();

    // One pass over all features, in one direction or the other.
    void sweep(bool backward);

    // The bound as it stands, up to rounding.
    [[nodiscard]] double bound() const;
    // The same less all that rounding can have added: proven.
    [[nodiscard]] double provenBound();

    // For each feature the cell that is cheapest over all factors, as the last sweep saw it.
    [[nodiscard]] std::vector<std::int32_t> const &cheapest() const { return cheapest_; }

    // Where to divide the box: a feature and the last cell of the lower part, between the cheapest leaves of factors
    // that want different cells. False with feature -1 if they all agree and feature >= 0 if some factor still has a
    // choice among leaves; then the cheapest leaves have a point in common, which `agreed` names.
    struct Division
    {
        Index feature = -1;
        std::int32_t last = 0;
        bool disputed = false;
        bool lowerFirst = true;
    };
    [[nodiscard]] Division division() const;
    [[nodiscard]] std::vector<std::int32_t> agreed() const;

private:
    [[nodiscard]] static std::size_t at(Index index) { return static_cast<std::size_t>(index); }
    [[nodiscard]] double leastOf(std::size_t factor) const;
    void gather(std::size_t slot);
    void settle(std::size_t slot);
    void passOver(std::size_t feature);

    BoxProblem const &problem_;
    std::function<bool()> shouldStop_;
    std::vector<std::int32_t> low_, high_;
    // A slot is a feature of a factor.
    std::vector<std::size_t> slotBegin_;  // of each factor
    std::vector<std::size_t> slotFactor_;
    std::vector<std::int32_t> slotFeature_;
    std::vector<std::size_t> slotPrice_;             // where its prices begin
    std::vector<std::vector<std::size_t>> slotsOf_;  // of each feature
    std::vector<double> price_;
    std::vector<double> marginal_;  // laid out as price_
    // Leaves that the present part of the box reaches, factor by factor, in front of the factor's others.
    std::vector<std::size_t> leafBegin_;
    std::vector<std::size_t> alive_;       // number of them, per factor
    std::vector<std::size_t> entryBegin_;  // of each factor: leaves x features
    std::vector<std::int32_t> entryLow_, entryHigh_;
    std::vector<double> entryPrice_;    // least price of the leaf's cells
    std::vector<double> value_, cost_;  // of each leaf; cost includes prices
    std::vector<std::int32_t> cheapest_;
    std::vector<double> total_;
};
}  // namespace hardwood
