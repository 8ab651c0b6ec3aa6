// Two numbers, one for each child of a split: what is done to the left one is done to the right one.
//
// The scans of depth 2 read the same samples in the same order for both children, so both are done at once: one
// addition and one comparison of two numbers each, which a processor has instructions for. Those exist for floating
// point everywhere; weights are whole numbers, and sums of whole numbers below 2^53 are exact in doubles. Where sums
// may be larger, the same code runs with 64-bit integers.
#pragma once

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#endif

#include "search/problem.h"

namespace hardwood::search
{
// Below this, whole numbers and their sums are exact in doubles.
inline constexpr Weight exactInDoubles = Weight{1} << 53;

template <class Number>
class Sides
{
    Number left_ = 0;
    Number right_ = 0;

public:
    Sides() = default;
    explicit Sides(Number both) : left_(both), right_(both) {}
    Sides(Number left, Number right) : left_(left), right_(right) {}

    [[nodiscard]] Number left() const { return left_; }
    [[nodiscard]] Number right() const { return right_; }
    [[nodiscard]] Weight of(Index side) const { return static_cast<Weight>(side == 0 ? left_ : right_); }

    friend Sides operator+(Sides a, Sides b) { return {a.left_ + b.left_, a.right_ + b.right_}; }
    friend Sides operator-(Sides a, Sides b) { return {a.left_ - b.left_, a.right_ - b.right_}; }
    friend Sides operator*(Sides a, Sides b) { return {a.left_ * b.left_, a.right_ * b.right_}; }
    friend Sides larger(Sides a, Sides b)
    {
        return {a.left_ < b.left_ ? b.left_ : a.left_, a.right_ < b.right_ ? b.right_ : a.right_};
    }
};

#if defined(__SSE2__) || defined(_M_X64)
template <>
class Sides<double>
{
    __m128d both_ = _mm_setzero_pd();

    explicit Sides(__m128d both) : both_(both) {}

public:
    Sides() = default;
    explicit Sides(double both) : both_(_mm_set1_pd(both)) {}
    Sides(double left, double right) : both_(_mm_set_pd(right, left)) {}

    [[nodiscard]] double left() const { return _mm_cvtsd_f64(both_); }
    [[nodiscard]] double right() const { return _mm_cvtsd_f64(_mm_unpackhi_pd(both_, both_)); }
    [[nodiscard]] Weight of(Index side) const { return static_cast<Weight>(side == 0 ? left() : right()); }

    friend Sides operator+(Sides a, Sides b) { return Sides(_mm_add_pd(a.both_, b.both_)); }
    friend Sides operator-(Sides a, Sides b) { return Sides(_mm_sub_pd(a.both_, b.both_)); }
    friend Sides operator*(Sides a, Sides b) { return Sides(_mm_mul_pd(a.both_, b.both_)); }
    friend Sides larger(Sides a, Sides b) { return Sides(_mm_max_pd(a.both_, b.both_)); }
};
#endif

template <class Number>
Sides<Number> magnitude(Sides<Number> sides)
{
    return larger(sides, Sides<Number>() - sides);
}

// What was taken away, where something was.
template <class Number>
Sides<Number> taken(Sides<Number> before, Sides<Number> now)
{
    return larger(Sides<Number>(), before - now);
}

// A running sum along an order, and the largest value it had.
template <class Number>
struct Running
{
    Sides<Number> now;
    Sides<Number> most;

    void add(Sides<Number> weight)
    {
        now = now + weight;
        most = larger(most, now);
    }
    void subtract(Sides<Number> weight)
    {
        now = now - weight;
        most = larger(most, now);
    }
    // The same sum carried on by one that began at 0, over what follows in the order.
    void append(Running const &next)
    {
        most = larger(most, now + next.most);
        now = now + next.now;
    }
};
}  // namespace hardwood::search
