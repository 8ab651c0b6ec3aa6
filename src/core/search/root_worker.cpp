// What one thread does at the root; see root.h.
#include "search/root.h"

namespace hardwood::search
{
RootSearch::Worker::Worker(RootSearch &root, Index number, Index depth, Options const &options, Control &control,
                           ProofLog *proof)
    : root_(root),
      number_(number),
      work_(root.problem_, options, control),
      node_(work_.root(depth)),
      nLearned_(static_cast<std::size_t>(root.problem_.nFeatures)),
      sharesKnown_(static_cast<std::size_t>(root.problem_.nFeatures))
{
    work_.proof = proof;
    work_.visitor = this;
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
    // Who shares the root out asks the first thread for these, whatever it does then.
    for (Index j = 0; number_ == 0 && j < work_.problem.nFeatures; ++j)
        static_cast<void>(node_.nCandidates(j));
    isOpen_ = true;
}

void RootSearch::Worker::run()
{
    open();
    while (auto const item = root_.take(*this))
    {
        learn(item->feature);
        takeShares(item->feature);
        auto const before = node_.counters().scans;
        settle(*item);
        if (!isLate(*item))
            leaveShares(item->feature);
        root_.finish(*item, node_.counters().scans - before, !shouldStop());
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

void RootSearch::Worker::missed(Weight cost, Tree const &tree)
{
    std::lock_guard const lock(root_.mutex_);
    auto &known = root_.missed_[static_cast<std::size_t>(tree.nodes()[0].feature)];
    if (cost < known.best.cost)
        known = {{cost, tree}, true};
}

void RootSearch::Worker::learn(Index feature)
{
    std::vector<Proven> news;
    {
        std::lock_guard const lock(root_.mutex_);
        auto const &proven = root_.proven_[static_cast<std::size_t>(feature)];
        auto &nLearned = nLearned_[static_cast<std::size_t>(feature)];
        news.assign(proven.begin() + static_cast<std::ptrdiff_t>(nLearned), proven.end());
        nLearned = proven.size();
    }
    for (auto const &[by, settled] : news)
        if (by != this)
            node_.learn(feature, settled.part.first, settled.part.end, settled.bound);
}

void RootSearch::Worker::takeShares(Index feature)
{
    auto &known = sharesKnown_[static_cast<std::size_t>(feature)];
    {
        std::lock_guard const lock(root_.mutex_);
        auto const &left = root_.sharesLeft_[static_cast<std::size_t>(feature)];
        if (left == known)
            return;
        known = left;
    }
    node_.startFrom(feature, known->view());
}

void RootSearch::Worker::leaveShares(Index feature)
{
    if (!root_.handsOverShares())
        return;
    auto &known = sharesKnown_[static_cast<std::size_t>(feature)];
    known = std::make_shared<Array<Share> const>(node_.copyShares(feature));
    std::lock_guard const lock(root_.mutex_);
    root_.sharesLeft_[static_cast<std::size_t>(feature)] = known;
}

void RootSearch::Worker::settled(Index feature, Index first, Index last, Weight bound)
{
    std::lock_guard const lock(root_.mutex_);
    root_.settled_.push_back({{feature, first, last + 1}, bound});
    if (root_.isSideBySide())
        root_.proven_[static_cast<std::size_t>(feature)].push_back({this, root_.settled_.back()});
    if (work_.proof != nullptr)
        root_.unwritten_.push_back(root_.settled_.back());
}

void RootSearch::Worker::visit(Node &node, Weight cutoff)
{
    std::unique_lock lock(root_.mutex_);
    if (node.level() == 1 && root_.isAsking_)
    {
        root_.takeHelp(node, cutoff);
        root_.isStanding_ = root_.publish(node, cutoff) && root_.isHolding_;
        while (root_.isStanding_ && !shouldStop())
            root_.changed_.wait_for(lock, look);
        root_.takeHelp(node, cutoff);
    }
    if (root_.isPieceWanted_ && !root_.isPieceForHelp_)
        root_.cutPiece(state(node.level()));
    else if (root_.isPieceWanted_ && node.level() == 0)
        root_.cutPiece({});
    root_.noteVisits();
}

void RootSearch::Worker::questionBegins()
{
    std::lock_guard const lock(root_.mutex_);
    ++root_.question_;
    root_.isAsking_ = true;
    root_.asked_ = std::chrono::steady_clock::now();
    if (root_.isHolding_)
        root_.leastSeconds_ = 0;
    root_.noteVisits();
}

void RootSearch::Worker::questionEnds()
{
    std::lock_guard const lock(root_.mutex_);
    root_.isAsking_ = false;
    root_.published_.reset();
    root_.help_.clear();
    if (std::exchange(root_.wasHelped_, false) && work_.proof != nullptr)
        work_.proof->forgetHelpers();
    root_.noteVisits();
}

// Above the node that is at work one range and one claim are open per level.
std::vector<std::uint8_t> RootSearch::Worker::state(Index level) const
{
    StateWriter state;
    state.put(level);
    auto bytes = state.take();
    auto const known = work_.save();
    bytes.insert(bytes.end(), known.begin(), known.end());
    return bytes;
}

void RootSearch::Worker::load(Span<std::uint8_t const> bytes)
{
    open();
    StateReader state(bytes);
    auto const nOpen = state.getIndex(0, deepest);
    work_.load(state);
    state.expectEnd();
    node_.weigh(work_.problem.weight.view());
    for (Index k = 0; k < nOpen; ++k)
    {
        work_.proof->ended(false);
        work_.proof->dropped();
    }
    work_.proof->forgetHelpers();
}

// Work is given away before anybody has to wait for it, which would last until the next threshold: if nobody comes, it
// is taken back and goes on where it was left.
bool RootSearch::Worker::giveAway(Index feature, Index first, Index end)
{
    auto const isAhead = root_.isStoreEmpty_.load(std::memory_order_relaxed) && end - first >= fewAhead;
    if (!isAhead && root_.nIdle_.load(std::memory_order_relaxed) == 0 &&
        !root_.isAskedForWork_.load(std::memory_order_relaxed))
        return false;
    leaveShares(feature);
    std::lock_guard const lock(root_.mutex_);
    auto const isWanted = root_.nIdle_ > 0 || root_.isAskedForWork_;
    if (isWanted ? root_.hasItem() : !(isAhead && root_.isStoreEmpty_))
        return false;
    root_.isAskedForWork_ = false;
    root_.items_.push_back({feature, first, end});
    root_.noteStore();
    ++root_.nItems_;
    root_.changed_.notify_all();
    return true;
}

void RootSearch::Worker::putOff(Index feature, Index candidate, Weight cutoff)
{
    std::lock_guard const lock(root_.mutex_);
    root_.putOffBelow_ = std::max(root_.putOffBelow_, cutoff);
    root_.items_.push_back({feature, candidate, candidate + 1});
    ++root_.nItems_;
    root_.changed_.notify_all();
}

void RootSearch::Worker::tell(Index side, Tree const &tree)
{
    std::lock_guard const lock(root_.mutex_);
    if (root_.isTelling_)
        root_.told_.push_back({this, side, tree});
}

std::vector<std::pair<Index, Tree>> RootSearch::Worker::news()
{
    std::vector<std::pair<Index, Tree>> news;
    std::lock_guard const lock(root_.mutex_);
    for (; nHeard_ < root_.told_.size(); ++nHeard_)
        if (auto const &told = root_.told_[nHeard_]; told.by != this)
            news.emplace_back(told.side, told.tree);
    return news;
}
}  // namespace hardwood::search
