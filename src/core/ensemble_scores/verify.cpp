#include "ensemble_scores/verify.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "ensemble_scores/box_problem.h"
#include "ensemble_scores/descent.h"
#include "ensemble_scores/margin_search.h"
#include "ensemble_scores/quick_look.h"

namespace hardwood
{
namespace
{
using Clock = std::chrono::steady_clock;

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr Index quickOnesPerLook = 32;  // samples that need no search, between two looks at the Control
constexpr double largest = std::numeric_limits<double>::max();

double secondsSince(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// A number in cell (above, atMost] and in [low, high], as near to x as possible; one that float32 holds, if there is.
double numberInCell(double x, double above, double atMost, double low, double high)
{
    double const last = std::min(atMost, high);
    double const first = std::max(std::nextafter(above, infinite), low);
    if (x >= first && x <= last)
        return x;
    float single;
    if (x < first)
    {
        single = static_cast<float>(first);
        if (static_cast<double>(single) < first)
            single = std::nextafter(single, std::numeric_limits<float>::infinity());
        return static_cast<double>(single) <= last ? static_cast<double>(single) : first;
    }
    single = static_cast<float>(last);
    if (static_cast<double>(single) > last)
        single = std::nextafter(single, -std::numeric_limits<float>::infinity());
    return static_cast<double>(single) >= first ? static_cast<double>(single) : last;
}

class OneSample
{
public:
    OneSample(ScoredTrees const &trees, Samples const &samples, Index row, Index mostEntries)
        : trees_(trees),
          mostEntries_(mostEntries),
          x_(samples.X.row(row)),
          lower_(samples.lower.row(row)),
          upper_(samples.upper.row(row)),
          truth_(samples.label[row]),
          sums_(trees.scores()),
          work_(trees.scores())
    {
        for (Index j = 0; j < trees.features(); ++j)
        {
            bool const missing = std::isnan(x_[j]);
            start_.push_back(missing ? -1 : trees.cellOf(j, x_[j]));
            // Only numbers count: a cell that holds nothing but an infinity is out of reach.
            box_.low.push_back(missing ? -1 : trees.cellOf(j, std::max(lower_[j], -largest)));
            box_.high.push_back(trees.cellOf(j, std::min(upper_[j], largest)));
        }
    }

    template <class Stop>
    Verdict treat(Stop &&shouldStop, Index &parts)
    {
        point_ = start_;
        if (truth_ < 0 || isWrong(start_))
            return Verdict::fooledAsItIs;
        auto verdict = Verdict::robustByTrees;
        bool open = false;
        for (Index rival = 0; rival < trees_.classes(); ++rival)
        {
            if (rival == truth_)
                continue;
            if (boundByWorstLeaves(trees_, box_, truth_, rival) > marginThreshold(trees_, truth_, rival))
                continue;
            BoxProblem problem(trees_, box_, truth_, rival, mostEntries_, shouldStop);
            tooLarge_ |= problem.tooLarge();
            if (!problem.complete())
                return Verdict::open;
            auto const judge = [&](auto const &cells) { return isWrong(cells); };
            // Before anything dear, on the trees as they are.
            Descent descent(problem, start_, judge, shouldStop);
            if (descent.fromStart())
            {
                point_ = descent.point();
                return Verdict::fooledByDescent;
            }
            problem.joinTrees(shouldStop);
            if (shouldStop())
                return Verdict::open;
            if (plainBound(problem) > problem.threshold())
                continue;
            MarginSearch search(problem, start_, judge, shouldStop);
            auto const outcome = search.run();
            parts += search.parts();
            if (outcome == Outcome::fooled)
            {
                point_ = search.point();
                return search.foundByDescent() ? Verdict::fooledByDescent : Verdict::fooledBySearch;
            }
            open |= outcome == Outcome::open;
            verdict = std::max(verdict, search.parts() > 1 ? Verdict::robustBySearch : Verdict::robustByMessages);
            if (shouldStop())
                return Verdict::open;
        }
        return open ? Verdict::open : verdict;
    }

    // Whether the sample is open because its box reaches too many leaves.
    [[nodiscard]] bool tooLarge() const { return tooLarge_; }

    // The point that was found, in numbers.
    void write(Span<double> out) const
    {
        for (Index j = 0; j < trees_.features(); ++j)
        {
            auto const cell = point_[static_cast<std::size_t>(j)];
            auto const &cuts = trees_.cuts(j);
            auto const cells = static_cast<std::int32_t>(cuts.size());
            if (cell < 0)
                out[j] = std::numeric_limits<double>::quiet_NaN();
            else
                out[j] = numberInCell(
                    std::isnan(x_[j]) ? 0.0 : x_[j], cell == 0 ? -infinite : cuts[static_cast<std::size_t>(cell - 1)],
                    cell == cells ? infinite : cuts[static_cast<std::size_t>(cell)], lower_[j], upper_[j]);
        }
    }

private:
    // Sum of the worst leaves, safe from rounding.
    static double plainBound(BoxProblem const &problem)
    {
        double sum = problem.constant(), size = std::abs(sum);
        for (auto const &factor : problem.factors())
        {
            auto const [least, most] = std::minmax_element(factor.value.begin(), factor.value.end());
            sum += *least;
            size += std::max(std::abs(*least), std::abs(*most));
        }
        return sum -
               4 * std::numeric_limits<double>::epsilon() * static_cast<double>(problem.factors().size() + 8) * size -
               std::numeric_limits<double>::epsilon() * size;
    }

    bool isWrong(std::vector<std::int32_t> const &cells)
    {
        trees_.sumsAtCells(Span<std::int32_t const>(cells.data(), static_cast<Index>(cells.size())), sums_.view());
        return trees_.classOf(sums_.view(), work_.view()) != truth_;
    }

    ScoredTrees const &trees_;
    Index mostEntries_;
    bool tooLarge_ = false;
    Span<double const> x_, lower_, upper_;
    Index truth_;
    std::vector<std::int32_t> start_, point_;
    CellBox box_;
    Array<double> sums_, work_;
};

// Write the verdict on a sample that needs no search; whether there is one. Samples with gaps are not for this.
bool lookQuickly(QuickLook &quick, Samples const &samples, Index i, Findings const &findings)
{
    auto const x = samples.X.row(i);
    auto const truth = samples.label[i];
    if (truth < 0 || std::any_of(x.begin(), x.end(), [](double value) { return std::isnan(value); }))
        return false;
    // Who is right in all of the box is right where it stands, and most are.
    if (quick.isRobust(samples.lower.row(i), samples.upper.row(i), truth))
    {
        findings.verdict[i] = static_cast<std::int8_t>(Verdict::robustByTrees);
        return true;
    }
    if (!quick.isWrong(x, truth))
        return false;
    findings.verdict[i] = static_cast<std::int8_t>(Verdict::fooledAsItIs);
    std::copy(x.begin(), x.end(), findings.point.row(i).begin());
    return true;
}
}  // namespace

void verify(ScoredTrees const &trees, Samples const &samples, double secondsPerSample, Index mostEntries, Index threads,
            Control &control, Findings findings)
{
    std::atomic<Index> next{0};
    std::exception_ptr failure;
    std::mutex failing;
    auto work = [&](bool polls)
    {
        try
        {
            QuickLook quick(trees);
            auto stop = [&] { return polls ? control.shouldStopOrPoll() : control.shouldStop(); };
            auto started = Clock::now();
            Index quickOnes = 0;
            for (Index i = next++; i < samples.label.size(); i = next++)
            {
                if (findings.verdict[i] != static_cast<std::int8_t>(Verdict::open) || findings.parts[i] == tooLarge)
                    continue;
                if (quickOnes++ % quickOnesPerLook == 0 && stop())
                    return;
                if (lookQuickly(quick, samples, i, findings))
                {
                    // What is over for this sample begins for the next: a clock is read once for both.
                    auto const now = Clock::now();
                    findings.seconds[i] += std::chrono::duration<double>(now - started).count();
                    started = now;
                    continue;
                }
                quickOnes = 0;
                OneSample sample(trees, samples, i, mostEntries);
                auto const verdict =
                    sample.treat([&] { return stop() || secondsSince(started) > secondsPerSample; }, findings.parts[i]);
                findings.seconds[i] += secondsSince(started);
                findings.verdict[i] = static_cast<std::int8_t>(verdict);
                if (verdict == Verdict::open && sample.tooLarge())
                    findings.parts[i] = tooLarge;
                if (verdict >= Verdict::fooledAsItIs)
                    sample.write(findings.point.row(i));
                started = Clock::now();
            }
        }
        catch (...)
        {
            std::lock_guard const lock(failing);
            failure = std::current_exception();
            control.requestStop();
        }
    };
    std::vector<std::thread> others;
    for (Index t = 1; t < threads; ++t)
        others.emplace_back(work, false);
    work(true);
    for (auto &thread : others)
        thread.join();
    if (failure)
        std::rethrow_exception(failure);
}
}  // namespace hardwood
