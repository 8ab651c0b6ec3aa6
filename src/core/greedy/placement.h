// How bad a split is, for the attacker's worst placement of the samples that can reach both sides.
//
// Of each class, a split has weights that are certainly left, certainly right, and movable (held): those that stand
// left but may leave, and those that stand right but may enter. The attacker places an amount `moved` of the movable
// ones on the left. Two criteria:
//
// Groot: the worst weighted Gini impurity over all placements. The impurity of two children is largest where both have
// the class shares of their parent, i.e. on the line moved = share * total - left. Of that line the point nearest to
// where the samples stand is taken, clamped to what the attacker can do (Vos & Verwer, "Efficient Training of Robust
// Decision Trees Against Adversarial Examples", ICML 2021, for two classes; the line is the same for more).
//
// Chen: the worst of four placements only: nobody moves, all movable samples go left, all go right, or all change
// sides; with Gini impurity or entropy. The samples are then divided by their own values (Chen, Zhang, Boning & Hsieh,
// "Robust Decision Trees Against Adversarial Examples", ICML 2019).
#pragma once

#include <array>
#include <cmath>

#include "span.h"

namespace hardwood
{
// One double per class; the number of classes is part of the type where it is two.
template <Index classes>
struct ClassWeights
{
    std::array<double, static_cast<std::size_t>(classes)> weight{};

    explicit ClassWeights(Index) {}
    [[nodiscard]] static constexpr Index size() { return classes; }
    double &operator[](Index c) { return weight[static_cast<std::size_t>(c)]; }
    double const &operator[](Index c) const { return weight[static_cast<std::size_t>(c)]; }
    void fill(double value) { weight.fill(value); }
};

template <>
struct ClassWeights<0> : Array<double>  // any number of classes
{
    using Array<double>::Array;
    void fill(double value) { std::fill(begin(), end(), value); }
    ClassWeights(ClassWeights const &other) : Array<double>(Array<double>::copy(other.view())) {}
    ClassWeights &operator=(ClassWeights const &other)
    {
        std::copy(other.begin(), other.end(), begin());
        return *this;
    }
};

// Round to a whole number, halves to the even one. Adding 1.5 * 2^52 leaves no bits behind the point, so this is exact
// for |x| < 2^51; it is used for numbers of samples, which are below 2^28. (std::rint is a call on most machines.)
[[nodiscard]] inline double roundHalfEven(double x)
{
    constexpr double shifter = 6755399441055744.0;
    return (x + shifter) - shifter;
}

// Where the samples of a node stand towards a threshold, by class.
template <Index classes>
struct Standing
{
    ClassWeights<classes> sureLeft;
    ClassWeights<classes> mayLeave;  // stand left, reach right
    ClassWeights<classes> mayEnter;  // stand right, reach left
    ClassWeights<classes> sureRight;

    explicit Standing(Index n) : sureLeft(n), mayLeave(n), mayEnter(n), sureRight(n) {}

    void allRight(ClassWeights<classes> const &totals)
    {
        sureLeft.fill(0.0);
        mayLeave.fill(0.0);
        mayEnter.fill(0.0);
        sureRight = totals;
    }
};

// What the attacker can do at a threshold, and what he does.
template <Index classes>
struct Placement
{
    ClassWeights<classes> left;
    ClassWeights<classes> staysLeft;  // of the held: what stands left
    ClassWeights<classes> held;
    ClassWeights<classes> right;
    ClassWeights<classes> moved;  // of the held: what he places on the left

    explicit Placement(Index n) : left(n), staysLeft(n), held(n), right(n), moved(n) {}

    [[nodiscard]] double atLeft(Index c) const { return left[c] + moved[c]; }
    [[nodiscard]] double atRight(Index c) const { return right[c] + held[c] - moved[c]; }

    // Let the attacker hold a share of the movable samples; the others count where they stand.
    void hold(Standing<classes> const &standing, double share, bool whole)
    {
        for (Index c = 0; c != left.size(); ++c)
        {
            double leaves = share * standing.mayLeave[c], enters = share * standing.mayEnter[c];
            if (whole && share != 1.0)
            {
                leaves = roundHalfEven(leaves);
                enters = roundHalfEven(enters);
            }
            left[c] = standing.sureLeft[c] + standing.mayLeave[c] - leaves;
            staysLeft[c] = leaves;
            held[c] = leaves + enters;
            right[c] = standing.sureRight[c] + standing.mayEnter[c] - enters;
        }
    }
};

// Mean Gini impurity of the two children.
struct Gini
{
    template <Index classes>
    static double ofNode(ClassWeights<classes> const &totals, double weight)
    {
        double impurity = 1.0;
        for (Index c = 0; c != totals.size(); ++c)
            impurity -= (totals[c] / weight) * (totals[c] / weight);
        return impurity;
    }

    template <Index classes>
    static double ofSplit(Placement<classes> const &placement)
    {
        double leftTotal = 0.0, rightTotal = 0.0, leftSquares = 0.0, rightSquares = 0.0;
        for (Index c = 0; c != placement.left.size(); ++c)
        {
            double const a = placement.atLeft(c), b = placement.atRight(c);
            leftTotal += a;
            rightTotal += b;
            leftSquares += a * a;
            rightSquares += b * b;
        }
        double const total = leftTotal + rightTotal;
        if (total <= 0.0)
            return 1.0;
        double impurity = total;
        if (leftTotal > 0.0)
            impurity -= leftSquares / leftTotal;
        if (rightTotal > 0.0)
            impurity -= rightSquares / rightTotal;
        return impurity / total;
    }
};

// Mean entropy of the two children.
struct Entropy
{
    template <Index classes>
    static double ofNode(ClassWeights<classes> const &totals, double weight)
    {
        double impurity = 0.0;
        for (Index c = 0; c != totals.size(); ++c)
            if (double const share = totals[c] / weight; share > 0.0)
                impurity -= share * std::log2(share);
        return impurity;
    }

    template <Index classes>
    static double ofSplit(Placement<classes> const &placement)
    {
        auto const term = [](double x) { return x > 0.0 ? x * std::log2(x) : 0.0; };
        double leftTotal = 0.0, rightTotal = 0.0, impurity = 0.0;
        for (Index c = 0; c != placement.left.size(); ++c)
        {
            double const a = placement.atLeft(c), b = placement.atRight(c);
            leftTotal += a;
            rightTotal += b;
            impurity -= term(a);
            impurity -= term(b);
        }
        impurity += term(leftTotal);
        impurity += term(rightTotal);
        return impurity / (leftTotal + rightTotal);
    }
};

struct Groot
{
    using Impurity = Gini;

    // Write the worst placement and return the impurity that it forces.
    template <Index classes>
    static double place(Placement<classes> &p, bool whole)
    {
        double numerator = 0.0, denominator = 0.0, lowest = 0.0, highest = 1.0;
        for (Index c = 0; c != p.left.size(); ++c)
        {
            double const total = p.left[c] + p.held[c] + p.right[c];
            if (total <= 0.0)
                continue;
            numerator += total * (p.left[c] + p.staysLeft[c]);
            denominator += total * total;
            lowest = std::max(lowest, p.left[c] / total);
            highest = std::min(highest, (p.left[c] + p.held[c]) / total);
        }
        // Where the line misses the box (lowest > highest), any share in between leads to the nearest corner.
        double const share =
            lowest > highest ? 0.5 * (lowest + highest) : std::min(std::max(numerator / denominator, lowest), highest);
        for (Index c = 0; c != p.left.size(); ++c)
        {
            double const moved = share * (p.left[c] + p.held[c] + p.right[c]) - p.left[c];
            p.moved[c] = std::min(std::max(whole ? roundHalfEven(moved) : moved, 0.0), p.held[c]);
        }
        return Gini::ofSplit(p);
    }
};

template <class ImpurityOf>
struct Chen
{
    using Impurity = ImpurityOf;

    // Leave the movable samples where they stand and return the worst impurity of the four placements.
    template <Index classes>
    static double place(Placement<classes> &p, bool)
    {
        double worst = 0.0;
        auto const worstWith = [&](auto moved)
        {
            for (Index c = 0; c != p.left.size(); ++c)
                p.moved[c] = moved(c);
            worst = std::max(worst, Impurity::ofSplit(p));
        };
        worstWith([&](Index c) { return p.held[c]; });
        worstWith([](Index) { return 0.0; });
        worstWith([&](Index c) { return p.held[c] - p.staysLeft[c]; });
        worstWith([&](Index c) { return p.staysLeft[c]; });
        return worst;
    }
};
}  // namespace hardwood
