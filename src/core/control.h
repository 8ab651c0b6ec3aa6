// How a long computation is stopped, and what it tells while it runs.
//
// Python makes one Control for a run and keeps it; every loop of the core that can last longer than a fifth of a second
// asks `should_stop()` now and then. A Control says yes when somebody asked for it, when the deadline has passed, or
// when the caller's own poll (a signal in Python, say) says so. Once it has said yes it never says no again.
//
// On a machine that others use a second of the clock on the wall may be little computing or much. A Control can count
// the CPU time of the process as well: then its deadline has passed only when that much has been computed, too. CPU
// time of one thread never runs ahead of the wall, so it is asked for only once the deadline on the wall is there, and
// what is missing puts that off: looking costs nothing more.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <limits>

namespace hardwood
{
class Control
{
    using Clock = std::chrono::steady_clock;

    std::atomic<bool> stopped_{false};
    std::atomic<std::int64_t> deadline_{std::numeric_limits<std::int64_t>::max()};  // nanoseconds of the steady clock
    std::atomic<std::int64_t> cpuDeadline_{0};  // nanoseconds of CPU time of the process; 0 where they do not count
    std::function<bool()> poll_;  // asked by the thread that called from Python, at most every `pollEvery`
    std::atomic<std::int64_t> nextPoll_{0};
    static constexpr std::int64_t pollEvery = 50'000'000;  // nanoseconds

    static std::int64_t now() { return Clock::now().time_since_epoch().count(); }
    static std::int64_t cpuTime()
    {
        return static_cast<std::int64_t>(static_cast<double>(std::clock()) * (1e9 / CLOCKS_PER_SEC));
    }

    // Whether CPU time is left, at a time when the deadline has passed; puts that off if so.
    bool hasCpuTimeLeft(std::int64_t time)
    {
        auto const deadline = cpuDeadline_.load(std::memory_order_relaxed);
        auto const left = deadline == 0 ? 0 : deadline - cpuTime();
        if (left > 0)
            deadline_ = time + left;
        return left > 0;
    }

public:
    // Let the run end in `seconds` from now, or when the process has computed for as long where `countsCpu`; infinity
    // or more than a century means never.
    void setTimeLeft(double seconds, bool countsCpu = false)
    {
        constexpr double century = 3.2e9;
        if (seconds < century)
        {
            auto const left = static_cast<std::int64_t>(seconds * 1e9);
            cpuDeadline_ = countsCpu ? cpuTime() + left : 0;
            deadline_ = now() + left;
        }
        else
            deadline_ = std::numeric_limits<std::int64_t>::max();
    }

    // Seconds until the deadline, of CPU time where that counts; infinite without one, never below 0.
    [[nodiscard]] double timeLeft() const
    {
        auto const deadline = deadline_.load(std::memory_order_relaxed), cpuDeadline = cpuDeadline_.load();
        if (deadline == std::numeric_limits<std::int64_t>::max())
            return std::numeric_limits<double>::infinity();
        auto const left = cpuDeadline == 0 ? deadline - now() : cpuDeadline - cpuTime();
        return stopRequested() || left < 0 ? 0.0 : 1e-9 * static_cast<double>(left);
    }

    // What is asked beside flag and clock, with the caller's locks; set before the computation starts.
    void setPoll(std::function<bool()> poll) { poll_ = std::move(poll); }

    void requestStop() { stopped_.store(true, std::memory_order_relaxed); }

    // One relaxed load: cheap enough for inner loops.
    [[nodiscard]] bool stopRequested() const { return stopped_.load(std::memory_order_relaxed); }

    // Look at flag and clock: some thirty nanoseconds, for loops whose turns take a microsecond or more.
    [[nodiscard]] bool shouldStop()
    {
        if (stopRequested())
            return true;
        auto const time = now();
        if (time >= deadline_.load(std::memory_order_relaxed) && !hasCpuTimeLeft(time))
        {
            requestStop();
            return true;
        }
        return false;
    }

    // As `shouldStop`, and ask the caller's poll; only for the thread that was called from Python.
    [[nodiscard]] bool shouldStopOrPoll()
    {
        if (shouldStop())
            return true;
        auto const time = now();
        if (poll_ && time >= nextPoll_.load(std::memory_order_relaxed))
        {
            nextPoll_.store(time + pollEvery, std::memory_order_relaxed);
            if (poll_())
                requestStop();
        }
        return stopRequested();
    }
};

// Counts turns of a loop and looks at the clock every so often, where a single turn takes nanoseconds.
class Ticker
{
    Control &control_;
    std::int64_t left_;
    std::int64_t every_;

public:
    explicit Ticker(Control &control, std::int64_t every = 1 << 14) : control_(control), left_(every), every_(every) {}

    // Whether to stop, after `turns` more turns.
    [[nodiscard]] bool operator()(std::int64_t turns = 1)
    {
        left_ -= turns;
        if (left_ > 0)
            return false;
        left_ = every_;
        return control_.shouldStopOrPoll();
    }
};
}  // namespace hardwood
