#include "search/root.h"

namespace hardwood::search
{
RootSearch::Worker::Worker(RootSearch &root, Index depth, Options const &options, Control &control, ProofLog *proof)
    : root_(root), work_(root.problem_, options, control), node_(work_.root(depth))
{
    work_.proof = proof;
    work_.endWhen(root.abandoned_);
}

void RootSearch::Worker::open()
{
    if (isOpen_)
        return;
    std::fill(work_.member.begin(), work_.member.end(), std::uint8_t{1});
    node_.open(work_.problem.events.view(), 2 * work_.problem.nSamples);
    node_.weigh(work_.problem.weight.view());
    node_.shareWith(this);
    isOpen_ = true;
}

void RootSearch::Worker::run()
{
    open();
    while (auto const item = root_.take(*this))
    {
        settle(*item);
        root_.finish(!shouldStop());
    }
}

// Search one part of the root until no tree below the cutoff is left in it.
void RootSearch::Worker::settle(Item const &item)
{
    node_.search(item.first, item.end);
    Index next = 0;
    while (!shouldStop())
    {
        auto const below = cutoff();
        if (below <= 0)
            return;
        auto const end = node_.sweep(item.feature, below, next);
        if (!end.found)
            return;
        root_.report(end.cost, node_.found());
        next = end.next;
    }
}

void RootSearch::Worker::settled(Index feature, Index first, Index last, Weight bound)
{
    std::lock_guard const lock(root_.mutex_);
    root_.settled_.push_back({{feature, first, last + 1}, bound});
}

bool RootSearch::Worker::giveAway(Index feature, Index first, Index end)
{
    if (root_.nIdle_.load(std::memory_order_relaxed) == 0 && !root_.isAskedForWork_.load(std::memory_order_relaxed))
        return false;
    std::lock_guard const lock(root_.mutex_);
    if (!root_.items_.empty() || (root_.nIdle_ == 0 && !root_.isAskedForWork_))
        return false;
    root_.isAskedForWork_ = false;
    root_.items_.push_back({feature, first, end});
    ++root_.nItems_;
    root_.changed_.notify_all();
    return true;
}

RootSearch::RootSearch(Problem const &problem, Options const &options, Index depth, Index nThreads, Control &control,
                       ProofLog *proof)
    : problem_(problem)
{
    for (Index k = 0; k < (proof == nullptr ? nThreads : 1); ++k)
        workers_.push_back(std::make_unique<Worker>(*this, depth, options, control, proof));
}

// Parts of the root: with one thread whole features, else more parts than threads.
void RootSearch::makeItems()
{
    auto const &node = workers_.front()->node();
    Index all = 0;
    Index most = 1;
    for (Index j = 0; j < problem_.nFeatures; ++j)
    {
        all += node.nCandidates(j);
        most = std::max(most, node.nCandidates(j));
    }
    auto const nThreads = static_cast<Index>(workers_.size());
    auto const width = nThreads == 1 ? most : std::max<Index>(4, all / (16 * nThreads));
    for (Index j = 0; j < problem_.nFeatures; ++j)
        for (Index first = 0; first < node.nCandidates(j); first += width)
            items_.push_back({j, first, std::min(first + width, node.nCandidates(j))});
}

void RootSearch::start(Weight target, Weight best, std::optional<std::vector<RootPart>> const &parts)
{
    stop();
    abandoned_ = false;
    target_ = target;
    best_ = best;
    workers_.front()->open();
    items_.clear();
    isAskedForWork_ = false;
    if (parts)
        items_.assign(parts->begin(), parts->end());
    else
        makeItems();
    nItems_ = static_cast<Index>(items_.size());
    nSettled_ = nBusy_ = 0;
    nIdle_ = 0;
    nRunning_ = static_cast<Index>(workers_.size());
    for (auto &worker : workers_)
        threads_.emplace_back([this, &worker] { runWorker(*worker); });
}

void RootSearch::runWorker(Worker &worker)
{
    try
    {
        worker.run();
    }
    catch (...)
    {
        std::lock_guard const lock(mutex_);
        failure_ = std::current_exception();
        abandoned_ = true;
    }
    std::lock_guard const lock(mutex_);
    --nRunning_;
    changed_.notify_all();
}

std::optional<RootSearch::Item> RootSearch::take(Worker &worker)
{
    constexpr auto look = std::chrono::milliseconds(20);
    std::unique_lock lock(mutex_);
    ++nIdle_;
    while (items_.empty() && nBusy_ > 0 && !worker.shouldStop())
        changed_.wait_for(lock, look);
    --nIdle_;
    if (items_.empty() || worker.shouldStop())
        return std::nullopt;
    auto const item = items_.front();
    items_.pop_front();
    ++nBusy_;
    return item;
}

void RootSearch::finish(bool isSettled)
{
    std::lock_guard const lock(mutex_);
    --nBusy_;
    nSettled_ += isSettled ? 1 : 0;
    changed_.notify_all();
}

void RootSearch::report(Weight cost, Tree const &tree)
{
    std::lock_guard const lock(mutex_);
    if (cost >= best_)
        return;
    best_ = cost;
    found_.push_back({cost, tree});
    changed_.notify_all();
}

StageReport RootSearch::wait(double seconds)
{
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return nRunning_ == 0; });
    if (failure_)
        std::rethrow_exception(std::exchange(failure_, nullptr));
    return {std::exchange(found_, {}), nSettled_, nItems_, nRunning_ > 0};
}

void RootSearch::stop()
{
    abandoned_ = true;
    threads_.clear();  // a jthread joins when it goes
}

void RootSearch::offer(Weight cost)
{
    std::lock_guard const lock(mutex_);
    best_ = std::min(best_.load(), cost);
}

std::vector<RootPart> RootSearch::giveBack()
{
    std::lock_guard const lock(mutex_);
    auto const nGiven = static_cast<std::ptrdiff_t>((items_.size() + 1) / 2);
    std::vector<RootPart> given(items_.end() - nGiven, items_.end());
    items_.erase(items_.end() - nGiven, items_.end());
    nItems_ -= nGiven;
    isAskedForWork_ = given.empty();
    return given;
}

std::vector<SettledPart> RootSearch::takeSettled()
{
    std::lock_guard const lock(mutex_);
    return std::exchange(settled_, {});
}

Index RootSearch::nCandidates(Index feature)
{
    workers_.front()->open();
    return workers_.front()->node().nCandidates(feature);
}

Counters RootSearch::countersOf(Index depth) const
{
    Counters sum;
    for (auto const &worker : workers_)
        sum += worker->workspace().countersOf(depth);
    return sum;
}
}  // namespace hardwood::search
