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

// Where the samples of a node stand towards a threshold, by class. A sample goes through four states while a threshold
// passes its lower end, its value and its upper end; the weights of a state stand beside those of the next, so that
// passing one needs no case by case.
template <Index classes>
class Standing
{
    Index size_;
    ClassWeights<4 * classes> weight_;

    [[nodiscard]] Index size() const { return classes > 0 ? classes : size_; }

public:
    explicit Standing(Index n) : size_(n), weight_(4 * n) {}

    [[nodiscard]] double sureRight(Index c) const { return weight_[c]; }
    [[nodiscard]] double mayEnter(Index c) const { return weight_[size() + c]; }      // stands right, reaches left
    [[nodiscard]] double mayLeave(Index c) const { return weight_[2 * size() + c]; }  // stands left, reaches right
    [[nodiscard]] double sureLeft(Index c) const { return weight_[3 * size() + c]; }

    void allRight(ClassWeights<classes> const &totals)
    {
        weight_.fill(0.0);
        for (Index c = 0; c != size(); ++c)
            weight_[c] = totals[c];
    }

    // Pass the lower end (0), the value (1) or the upper end (2) of a sample of class c and weight w.
    void pass(Index end, Index c, double w)
    {
        Index const state = end * size() + c;
        weight_[state] -= w;
        weight_[state + size()] += w;
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
            double leaves = share * standing.mayLeave(c), enters = share * standing.mayEnter(c);
            if (whole && share != 1.0)
            {
                leaves = roundHalfEven(leaves);
                enters = roundHalfEven(enters);
            }
            left[c] = standing.sureLeft(c) + standing.mayLeave(c) - leaves;
            staysLeft[c] = leaves;
            held[c] = leaves + enters;
            right[c] = standing.sureRight(c) + standing.mayEnter(c) - enters;
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

    // The weighted impurity of two children, class by class.
    class Split
    {
        double left_ = 0.0, right_ = 0.0, leftSquares_ = 0.0, rightSquares_ = 0.0;

    public:
        void add(double left, double right)
        {
            left_ += left;
            right_ += right;
            leftSquares_ += left * left;
            rightSquares_ += right * right;
        }

        [[nodiscard]] double left() const { return left_; }
        [[nodiscard]] double right() const { return right_; }
        [[nodiscard]] double total() const { return left_ + right_; }
        [[nodiscard]] double impurity() const
        {
            double impurity = total();
            if (left_ > 0.0)
                impurity -= leftSquares_ / left_;
            if (right_ > 0.0)
                impurity -= rightSquares_ / right_;
            return impurity;
        }
    };

    template <Index classes>
    static double ofSplit(Placement<classes> const &placement)
    {
        Split split;
        for (Index c = 0; c != placement.left.size(); ++c)
            split.add(placement.atLeft(c), placement.atRight(c));
        return split.total() <= 0.0 ? 1.0 : split.impurity() / split.total();
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
