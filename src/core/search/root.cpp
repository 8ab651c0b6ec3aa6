#include "search/root.h"

#include <numeric>

namespace hardwood::search
{
RootSearch::RootSearch(Problem const &problem, Options const &options, Index depth, Index nThreads, Control &control,
                       ProofLog *proof)
    : problem_(problem),
      proof_(proof),
      missed_(static_cast<std::size_t>(problem.nFeatures)),
      isTelling_(proof == nullptr && nThreads > 1),
      owner_(static_cast<std::size_t>(problem.nFeatures), nullptr),
      scans_(static_cast<std::size_t>(problem.nFeatures)),
      sharesLeft_(static_cast<std::size_t>(problem.nFeatures)),
      proven_(static_cast<std::size_t>(problem.nFeatures)),
      nUsed_(proof == nullptr ? nThreads : 1)
{
    for (Index k = 0; k < nUsed_; ++k)
        workers_.push_back(std::make_unique<Worker>(*this, k, depth, options, control, proof));
}

void RootSearch::useThreads(Index nThreads)
{
    std::lock_guard const lock(mutex_);
    nUsed_ = std::max<Index>(1, nThreads);
    noteStore();
    changed_.notify_all();
}

// All of the root. Where children are stumps, nothing is remembered below it, and threads work on one feature side by
// side: whoever finds the best tree of it finds it sooner. There, features that took the last stage most scans come
// first: what is hardest to rule out holds the best trees, and what is asked before these are known is asked in vain.
void RootSearch::makeItems()
{
    auto const &node = workers_.front()->node();
    auto const nPieces = isSideBySide() ? nThreads() : 1;
    std::vector<Index> features(scans_.size());
    std::iota(features.begin(), features.end(), Index{0});
    auto const scans = std::exchange(scans_, std::vector<Index>(scans_.size()));
    auto const scansOf = [&](Index j) { return scans[static_cast<std::size_t>(j)]; };
    if (isSideBySide())
        std::stable_sort(features.begin(), features.end(), [&](Index a, Index b) { return scansOf(a) > scansOf(b); });
    for (auto const j : features)
        for (Index k = 0; k < nPieces; ++k)
        {
            auto const n = node.nCandidates(j);
            if (Item const item{j, k * n / nPieces, (k + 1) * n / nPieces}; item.first < item.end)
                items_.push_back(item);
        }
}

// Every thread makes its own node of all samples; what the first one knows is asked for before they begin.
void RootSearch::openWorkers()
{
    std::vector<std::exception_ptr> failures(workers_.size());
    {
        std::vector<std::jthread> others;
        for (std::size_t k = 1; k < workers_.size() && !workers_[k]->isOpen(); ++k)
            others.emplace_back(
                [&worker = *workers_[k], &failure = failures[k]]
                {
                    try
                    {
                        worker.open();
                    }
                    catch (...)
                    {
                        failure = std::current_exception();
                    }
                });
        workers_.front()->open();
    }
    for (auto const &failure : failures)
        if (failure)
            std::rethrow_exception(failure);
}

// A thread that has not worked so far, because there was something else to do, begins with the shares of the first one
// at the root and on the next levels: to learn those of the root's children anew took as many scans as some features.
void RootSearch::teachBeginners()
{
    if (!isRemembering() || problem_.isLarge() || !workers_.front()->isExperienced())
        return;
    for (auto &worker : workers_)
        if (!worker->isExperienced())
            worker->beginFrom(*workers_.front());
}

void RootSearch::start(Weight target, Weight best, std::optional<std::vector<RootPart>> const &parts)
{
    stop();
    abandoned_ = false;
    target_ = target;
    best_ = best;
    openWorkers();
    for (auto &worker : workers_)
        if (worker != workers_.front())
            workers_.front()->learnFrom(*worker);
    for (auto &worker : workers_)
        if (worker != workers_.front())
            worker->learnFrom(*workers_.front());
    teachBeginners();
    setOut(parts);
    std::lock_guard const lock(ending_);
    for (auto &worker : workers_)
        threads_.emplace_back([this, &worker] { runWorker(*worker); });
}

// Set out the items of a stage. Another station may ask for some of them meanwhile: it gets them before or after.
void RootSearch::setOut(std::optional<std::vector<RootPart>> const &parts)
{
    std::lock_guard const lock(mutex_);
    for (auto &proven : proven_)
        proven.clear();
    for (auto &worker : workers_)
        worker->begin();
    items_.clear();
    putOffBelow_ = 0;
    std::fill(missed_.begin(), missed_.end(), Missed{});
    isAskedForWork_ = false;
    if (parts)
        items_.assign(parts->begin(), parts->end());
    else
        makeItems();
    // Who is stopped while the thresholds of the root are listed knows only some of them: with these, it is not done.
    nItems_ = static_cast<Index>(items_.size()) + (workers_.front()->shouldStop() ? 1 : 0);
    noteStore();
    nSettled_ = nBusy_ = nSweeping_ = 0;
    nIdle_ = 0;
    nRunning_ = static_cast<Index>(workers_.size());
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

// With the mutex locked: whether there is an item to take. Side by side no item lasts long, and who would settle a late
// one while others still sweep is given half of what they have to do instead: a tree that they find may spare it.
bool RootSearch::hasItem() const
{
    auto const isWaiting = isSideBySide() && nSweeping_ > 0;
    return isWaiting ? !std::all_of(items_.begin(), items_.end(), isLate) : !items_.empty();
}

// With the mutex locked, and only late items left: if a better tree was found since they were put off, most are easy by
// now, and are looked at as the ranges that they were parts of. Those that are still hard are put off once more.
void RootSearch::joinLate()
{
    if (!isSideBySide() || cutoff() >= putOffBelow_ || !std::all_of(items_.begin(), items_.end(), isLate))
        return;
    putOffBelow_ = 0;
    std::map<Index, Item> byFeature;
    for (auto const &item : items_)
    {
        auto &joined = byFeature.try_emplace(item.feature, item).first->second;
        joined = {item.feature, std::min(joined.first, item.first), std::max(joined.end, item.end)};
    }
    nItems_ += static_cast<Index>(byFeature.size()) - static_cast<Index>(items_.size());
    items_.clear();
    for (auto const &[feature, joined] : byFeature)
        items_.push_back(joined);
    changed_.notify_all();
}

std::optional<RootSearch::Item> RootSearch::take(Worker &worker)
{
    std::unique_lock lock(mutex_);
    while (worker.isHeld() && (!items_.empty() || nBusy_ > 0) && !worker.shouldStop())
        changed_.wait_for(lock, look);
    ++nIdle_;
    while (!hasItem() && nBusy_ > 0 && !worker.shouldStop())
        changed_.wait_for(lock, look);
    --nIdle_;
    if (items_.empty() || worker.shouldStop())
        return std::nullopt;
    joinLate();
    auto const ownerOf = [this](Item const &item) -> Worker const *&
    { return owner_[static_cast<std::size_t>(item.feature)]; };
    auto const lateness = [&](Item const &item)
    {
        auto const *const owner = isRemembering() ? ownerOf(item) : nullptr;
        return (isLate(item) ? 3 : 0) + (owner == &worker ? 0 : owner == nullptr ? 1 : 2);
    };
    auto const chosen = std::min_element(items_.begin(), items_.end(),
                                         [&](auto const &a, auto const &b) { return lateness(a) < lateness(b); });
    auto const item = *chosen;
    items_.erase(chosen);
    noteStore();
    ownerOf(item) = &worker;
    ++nBusy_;
    nSweeping_ += isLate(item) ? 0 : 1;
    return item;
}

void RootSearch::finish(Item const &item, Index scans, bool isSettled)
{
    std::lock_guard const lock(mutex_);
    --nBusy_;
    nSweeping_ -= isLate(item) ? 0 : 1;
    scans_[static_cast<std::size_t>(item.feature)] += scans;
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
    std::lock_guard const lock(ending_);
    threads_.clear();  // a jthread joins when it goes
}

std::optional<Tree> RootSearch::takeMissed()
{
    std::lock_guard const lock(mutex_);
    auto const priceOf = [](Missed const &missed) { return missed.isNew ? missed.best.cost : everything; };
    auto const cheapest = std::min_element(missed_.begin(), missed_.end(),
                                           [&](auto const &a, auto const &b) { return priceOf(a) < priceOf(b); });
    if (cheapest == missed_.end() || priceOf(*cheapest) == everything)
        return std::nullopt;
    cheapest->isNew = false;
    return cheapest->best.tree;
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

std::vector<std::pair<Index, Tree>> RootSearch::takeTold()
{
    std::lock_guard const lock(mutex_);
    isTelling_ = true;
    std::vector<std::pair<Index, Tree>> trees;
    for (; nTaken_ < told_.size(); ++nTaken_)
        if (auto const &told = told_[nTaken_]; told.by != nullptr)
            trees.emplace_back(told.side, told.tree);
    return trees;
}

void RootSearch::hear(std::vector<std::pair<Index, Tree>> const &trees)
{
    std::lock_guard const lock(mutex_);
    for (auto const &[side, tree] : trees)
        told_.push_back({nullptr, side, tree});
}

std::vector<SettledPart> RootSearch::takeSettled()
{
    std::lock_guard const lock(mutex_);
    return std::exchange(settled_, {});
}

// With the mutex locked, and the thread that searches at rest or being the caller.
void RootSearch::cutPiece(std::vector<std::uint8_t> state)
{
    isPieceWanted_ = false;
    piece_ = ProofPiece{proof_->take(), std::exchange(unwritten_, {}), std::move(state)};
    changed_.notify_all();
}

std::optional<ProofPiece> RootSearch::takePiece(double seconds, bool isForHelp)
{
    if (proof_ == nullptr)
        throw std::invalid_argument("this search writes no proof");
    std::unique_lock lock(mutex_);
    isPieceWanted_ = isVisitDue_ = true;
    isPieceForHelp_ = isForHelp;
    changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return piece_ || nRunning_ == 0; });
    if (!piece_ && nRunning_ == 0)
        cutPiece(isForHelp ? std::vector<std::uint8_t>{} : workers_.front()->state(0));
    if (piece_ || !isForHelp)
        isPieceWanted_ = false;  // who helps need not wait for it: the next call finds it
    return std::exchange(piece_, std::nullopt);
}

// With the mutex locked: tell the question that a child of the root is at, if somebody wants to know; whether so.
bool RootSearch::publish(Node const &child, Weight cutoff)
{
    auto const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - asked_).count();
    if (leastSeconds_ < 0 || seconds < leastSeconds_)
        return false;
    leastSeconds_ = -1;
    published_ = child.question(cutoff);
    return true;
}

// With the mutex locked, between two thresholds of the child: its records may go on with those of others.
void RootSearch::takeHelp(Node &child, Weight cutoff)
{
    for (auto const &help : std::exchange(help_, {}))
    {
        for (auto const &[part, bound] : help.settled)
            child.learn(part.feature, part.first, part.end, bound);
        if (proof_ != nullptr && !help.records.empty())
        {
            proof_->twin(help.place, help.records);
            wasHelped_ = true;
        }
        if (help.answer && help.answer->cost < cutoff)
            child.answer(help.answer->cost, help.answer->tree);
    }
}

std::optional<std::pair<Index, Question>> RootSearch::askQuestion(double leastSeconds)
{
    std::lock_guard const lock(mutex_);
    if (workers_.size() > 1 || problem_.minLeaf > 0 || nRunning_ == 0)
        return std::nullopt;
    if (published_)
        return std::pair(question_, *std::exchange(published_, std::nullopt));
    if (!isHolding_)
        leastSeconds_ = std::max(0.0, leastSeconds);
    noteVisits();
    return std::nullopt;
}

void RootSearch::holdQuestions(bool isHolding)
{
    std::lock_guard const lock(mutex_);
    isHolding_ = isHolding;
    isStanding_ = false;
    changed_.notify_all();
}

bool RootSearch::help(Index question, Help help)
{
    std::lock_guard const lock(mutex_);
    if (!isAsking_ || question != question_ || nRunning_ == 0)
        return false;
    if (!help.settled.empty() || !help.records.empty() || help.answer)
        help_.push_back(std::move(help));
    noteVisits();
    return true;
}

void RootSearch::load(Span<std::uint8_t const> state)
{
    if (proof_ == nullptr || nRunning_ > 0)
        throw std::invalid_argument("only a search with a proof that has not begun goes on from a state");
    workers_.front()->load(state);
}

Index RootSearch::nCandidates(Index feature)
{
    workers_.front()->open();
    return workers_.front()->node().nCandidates(feature);
}

Index RootSearch::nScanned() const
{
    Index most = 0;
    for (auto const &worker : workers_)
        most = std::max(most, worker->workspace().nScanned());
    return most;
}

Counters RootSearch::countersOf(Index depth) const
{
    Counters sum;
    for (auto const &worker : workers_)
        sum += worker->workspace().countersOf(depth);
    return sum;
}
}  // namespace hardwood::search
