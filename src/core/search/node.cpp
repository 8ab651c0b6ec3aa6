#include "search/node.h"

#include <bit>

#include "search/deeper.h"
#include "search/depth_two.h"
#include "search/unshared.h"

namespace hardwood::search
{
Workspace::Workspace(Problem const &problem, Options const &options, Control &control)
    : control_(control),
      problem(problem),
      options(options),
      place(problem.nSamples, -1),
      kept(Array<Event>::unwritten(isCoarse() ? 0 : 2 * problem.nSamples + 1)),
      member(problem.nSamples),
      classWeight(problem.nClasses)
{
}

Workspace::~Workspace() = default;

bool Workspace::isCoarse() const
{
    // Two classes have orders of their own, which are faster to scan as long as weights are in the cache.
    auto const isLarge = problem.nSamples >= (problem.nClasses == 2 ? options.coarseFrom : options.coarseFromMany);
    return options.useCoarseScan && isLarge && problem.minLeaf == 0 && !usesBlocks(problem, options);
}

bool Workspace::listsLate() const
{
    return isCoarse() || (problem.isLarge() && !usesBlocks(problem, options));
}

Node &Workspace::create(Index level, Index depth)
{
    nodes_.push_back(depth == 2 ? makeDepthTwo(*this, level) : std::make_unique<Deeper>(*this, level, depth));
    return *nodes_.back();
}

Node &Workspace::child(Index parentLevel, Index parentDepth, Index side)
{
    if (parentLevel < separateLevels)
        return create(parentLevel + 1, parentDepth - 1);
    auto &node = shared_[{parentDepth - 1, side}];
    if (node == nullptr)
        node = &create(parentLevel + 1, parentDepth - 1);
    return *node;
}

Counters Workspace::countersOf(Index depth) const
{
    Counters sum;
    for (auto const &node : nodes_)
        if (node->depth() == depth)
            sum += node->counters();
    return sum;
}

Index Workspace::scans() const
{
    Index scans = 0;
    for (auto const &node : nodes_)
        scans += node->counters().scans;
    return scans;
}

std::vector<std::uint8_t> Workspace::save() const
{
    StateWriter state;
    state.put(nNodes());
    for (auto const &node : nodes_)
        state.put(node->childNumbers());
    for (auto const &node : nodes_)
        node->save(state);
    return state.take();
}

void Workspace::load(StateReader &state)
{
    auto const n = state.getIndex(1, Index{1} << 20);
    std::vector<std::pair<Index, Index>> parent(static_cast<std::size_t>(n), {-1, -1});
    for (Index k = 0; k < n; ++k)
        for (Index side = 0; auto const child : state.get<std::array<Index, 2>>())
        {
            // Nodes are numbered as they are made, a child behind the first of its parents.
            StateReader::require(child < n &&
                                 (child < 0 || child > k || parent[static_cast<std::size_t>(child)].first >= 0));
            if (child > k && parent[static_cast<std::size_t>(child)].first < 0)
                parent[static_cast<std::size_t>(child)] = {k, side};
            ++side;
        }
    StateReader::require(nNodes() == 1);
    for (std::size_t k = 1; k < parent.size(); ++k)
    {
        auto const [above, side] = parent[k];
        StateReader::require(above >= 0);
        nodes_[static_cast<std::size_t>(above)]->makeChild(side);
        StateReader::require(nNodes() == static_cast<Index>(k) + 1);
    }
    for (auto const &node : nodes_)
        node->load(state);
}

Node::Node(Workspace &work, Index level, Index depth)
    : memory_(work.problem),
      candidates_(static_cast<std::size_t>(work.problem.nFeatures)),
      isListed_(work.problem.nFeatures),
      nCandidates_(work.problem.nFeatures, -1),
      work_(work),
      problem_(work.problem),
      number_(work.nNodes()),
      level_(level),
      depth_(depth),
      shares_(work.problem),
      weight_(work.problem.nSamples),
      isCertain_(work.problem.nSamples, 1),
      end_(work.problem.nSamples)
{
    for (Index j = 0; j < problem_.nFeatures; ++j)
        featureOrder_.push_back(j);
}

void Node::open(Span<Event const> source, Index sourceWidth)
{
    size_ = 0;
    std::fill(isListed_.begin(), isListed_.end(), std::uint8_t{0});
    std::fill(nCandidates_.begin(), nCandidates_.end(), Index{-1});
    shares_.reopen();
    makeRoom(ids_, problem_.nSamples, problem_.nSamples);
    for (Index i = 0; i < problem_.nSamples; ++i)
    {
        work_.place[i] = work_.member[i] != 0 ? static_cast<std::int32_t>(size_) : -1;
        ids_[size_] = static_cast<Sample>(i);
        size_ += work_.member[i] != 0 ? 1 : 0;
        if (size_ == problem_.nSamples)
            break;
    }
    fill(source, sourceWidth);
}

void Node::noteCandidates(Index feature, Span<Event const> events)
{
    auto const lower = problem_.lower(feature);
    auto const upper = problem_.upper(feature);
    auto &[threshold, cell, end] = candidates_[static_cast<std::size_t>(feature)];
    threshold.clear();
    cell.clear();
    Rank lastLower = 0;
    Rank cellStart = 0;
    bool afterUpper = false;
    for (Index k = 0; k < events.size(); ++k)
    {
        auto const isUpper = events[k].isUpper();
        if (isUpper == afterUpper)
            continue;
        // The end before this one was the last of its run.
        if (isUpper)
        {
            lastLower = k > 0 ? lower[events[k - 1].sample()] : 0;
            cellStart = std::max(lastLower, 0);
        }
        else
        {
            threshold.push_back(upper[events[k - 1].sample()]);
            cell.push_back(cellStart);
        }
        afterUpper = isUpper;
    }
    end = afterUpper || events.empty() ? lastLower : lower[events[events.size() - 1].sample()];
}

void Node::listCandidates(Index feature) const
{
    work_.lookedAt(size_);
    if (problem_.isLarge() && lastListed_ >= 0)
    {
        candidates_[static_cast<std::size_t>(lastListed_)] = {};
        isListed_[lastListed_] = 0;
    }
    lastListed_ = feature;
    auto const lower = problem_.lower(feature);
    auto const upper = problem_.upper(feature);
    auto const nWords = static_cast<std::size_t>((problem_.nRanks[feature] + 2 + 63) / 64);
    for (auto &bits : work_.ends)
        bits.assign(nWords, 0);
    auto const set = [](std::vector<std::uint64_t> &bits, Rank rank)
    {
        auto const bit = static_cast<std::size_t>(Index{rank} + 1);
        bits[bit / 64] |= std::uint64_t{1} << (bit % 64);
    };
    for (auto const i : ids())
    {
        set(work_.ends[0], lower[i]);
        set(work_.ends[1], upper[i]);
    }
    auto &[threshold, cell, end] = candidates_[static_cast<std::size_t>(feature)];
    threshold.clear();
    cell.clear();
    Rank lastLower = 0;
    Rank lastUpper = 0;
    Rank cellStart = 0;
    Rank lowerOfCell = 0;
    bool afterUpper = false;
    for (std::size_t word = 0; word < nWords; ++word)
        for (auto bits = work_.ends[0][word] | work_.ends[1][word]; bits != 0; bits &= bits - 1)
        {
            auto const bit = std::countr_zero(bits);
            auto const rank = static_cast<Rank>(static_cast<Index>(word) * 64 + bit - 1);
            if (((work_.ends[0][word] >> bit) & 1U) != 0)
            {
                if (afterUpper)
                {
                    threshold.push_back(lastUpper);
                    cell.push_back(cellStart);
                }
                lastLower = rank;
                afterUpper = false;
            }
            if (((work_.ends[1][word] >> bit) & 1U) != 0)
            {
                if (!afterUpper)
                {
                    lowerOfCell = lastLower;
                    cellStart = std::max(lastLower, 0);
                }
                lastUpper = rank;
                afterUpper = true;
            }
        }
    end = afterUpper || ids().empty() ? lowerOfCell : lastLower;
    isListed_[feature] = 1;
    nCandidates_[feature] = static_cast<Index>(threshold.size());
}

void Node::noteValues(Index feature, Span<Rank const> rank)
{
    auto &[threshold, cell, end] = candidates_[static_cast<std::size_t>(feature)];
    threshold.clear();
    for (Index k = 0; k + 1 < rank.size(); ++k)
        if (rank[k] != rank[k + 1])
            threshold.push_back(rank[k]);
    cell = threshold;
    end = rank.empty() ? 0 : rank[rank.size() - 1];
}

void Node::writeRange(Index feature, Index first, Index last)
{
    auto const &known = candidates(feature);
    work_.proof->range(feature, known.firstOfCell(first), known.endOfCell(last));
}

void Node::writeShares(Index feature)
{
    shares_.write(feature, ids(), *work_.proof);
}

void Node::remember(Index feature, Index first, Index last, Weight bound)
{
    auto const &known = candidates(feature);
    memory_.raise(problem_, feature, known.firstOfCell(first), known.endOfCell(last), bound);
    if (sharing_ != nullptr)
        sharing_->settled(feature, first, last, bound);
}

void Node::listActive(Index feature, Weight cutoff)
{
    auto const &known = candidates(feature);
    active_.clear();
    for (Index k = first_; k < std::min(known.size(), end_); ++k)
        if (memory_.leavesOpen(feature, known.at(k), cutoff))
            active_.push_back(static_cast<Rank>(k));
    counters_.skipped += known.size() - nActive();
}

Weight Node::share(Index feature, Index position, Weight cutoff)
{
    receive(feature, position, cutoff);
    if (sharing_ == nullptr)
        return cutoff;
    auto const middle = position + (nActive() - position + 1) / 2;
    if (middle > position && middle < nActive())
    {
        auto const firstGiven = active(middle);
        if (sharing_->giveAway(feature, firstGiven, std::min(candidates(feature).size(), end_)))
        {
            active_.resize(static_cast<std::size_t>(middle));
            end_ = firstGiven;
        }
    }
    return std::min(cutoff, sharing_->cutoff());
}

void Node::putOff(Index feature, Index candidate, Weight cutoff)
{
    if (sharing_ != nullptr)
        sharing_->putOff(feature, candidate, cutoff);
    else
        late_.emplace_back(feature, candidate);
}

void Node::weigh(Span<Weight const> weight)
{
    // With a least size of leaves, which splits are allowed changes with the samples, not only with weights.
    if (work_.options.useMemory && problem_.minLeaf == 0)
        memory_.follow(weight_.view(), weight);
    else
        memory_.forget();
    std::copy(weight.begin(), weight.end(), weight_.begin());
    takeWeights();
}

Node::Leaf Node::bestLeaf() const
{
    auto const total = work_.classWeight.view();
    std::fill(total.begin(), total.end(), Weight{0});
    Index certain = 0;
    Weight everything = 0;
    for (auto const i : ids())
    {
        total[problem_.label[i]] += weight_[i];
        everything += weight_[i];
        certain += problem_.minLeaf > 0 && isCertain_[i] != 0 ? problem_.count[i] : 0;
    }
    auto const heaviest = std::max_element(total.begin(), total.end());
    auto const label = static_cast<Label>(heaviest - total.begin());
    if (certain < problem_.minLeaf)
        return {problem_.forbidden, label};
    return {everything - *heaviest + problem_.penalty, label};
}

void Node::receive(Index feature, Index position, Weight cutoff)
{
    if (work_.visitor == nullptr || !work_.visitor->isDue())
        return;
    work_.visitor->visit(*this, cutoff);
    // What somebody else has settled need not be looked at; the next candidate is, whatever is known of it.
    auto const isSettled = [&](Index k) { return !memory_.leavesOpen(feature, candidates(feature).at(k), cutoff); };
    active_.erase(std::remove_if(active_.begin() + position + 1, active_.end(), isSettled), active_.end());
}

Question Node::question(Weight cutoff) const
{
    Question question{{}, {}, cutoff, {}};
    for (auto const i : ids())
    {
        question.samples.push_back(i);
        question.weight.push_back(weight_[i]);
    }
    for (auto const feature : featureOrder_)
        for (Index k = 0; k < candidates(feature).size(); ++k)
        {
            auto &open = question.open;
            if (!memory_.leavesOpen(feature, candidates(feature).at(k), cutoff))
                continue;
            if (!open.empty() && open.back()[0] == feature && open.back()[2] == k)
                ++open.back()[2];
            else
                open.push_back({feature, k, k + 1});
        }
    return question;
}

void Node::learn(Index feature, Index first, Index end, Weight bound)
{
    auto const &known = candidates(feature);
    if (first < 0 || first >= end || end > known.size())
        throw std::invalid_argument("what was settled is no part of the question");
    memory_.raise(problem_, feature, known.firstOfCell(first), known.endOfCell(end - 1), bound);
}

void Node::answer(Weight cost, Tree const &tree)
{
    answer_ = cost;
    found_ = tree;
}

void Node::beginFrom(Node const &other)
{
    shares_.copyFrom(other.shares_);
    featureOrder_ = other.featureOrder_;
    width_ = other.width_;
}

void Node::save(StateWriter &state) const
{
    memory_.save(state, weight_.view());
    shares_.save(state);
    state.put<Index>(Span<Index const>(featureOrder_));
    state.put(width_);
}

void Node::load(StateReader &state)
{
    memory_.load(problem_, state, weight_.view());
    shares_.load(state);
    state.get(Span<Index>(featureOrder_));
    auto sorted = featureOrder_;
    std::sort(sorted.begin(), sorted.end());
    for (Index j = 0; j < problem_.nFeatures; ++j)
        StateReader::require(sorted[static_cast<std::size_t>(j)] == j);
    width_ = state.getIndex(1, Index{1} << 20);
}

Weight Node::solve(Weight cutoff, bool firstTree)
{
    ++counters_.nodes;
    answer_ = everything;
    auto best = cutoff;
    if (auto const leaf = bestLeaf(); leaf.cost < best)
    {
        best = leaf.cost;
        best_ = Tree::leaf(leaf.label);
        if (firstTree)
            return best;
    }
    late_.clear();
    for (Index turn = 0; turn < problem_.nFeatures && !work_.shouldStop(); ++turn)
    {
        auto const feature = featureOrder_[static_cast<std::size_t>(turn)];
        if (!improve(feature, best, firstTree))
            continue;
        auto const place = featureOrder_.begin() + turn;
        std::rotate(featureOrder_.begin(), place, place + 1);  // the first one to try next time
        if (firstTree)
            return best;
    }
    auto const late = std::exchange(late_, {});
    for (auto const &[feature, candidate] : late)
    {
        search(candidate, candidate + 1);
        auto const isBetter = improve(feature, best, firstTree);
        search(0, problem_.nSamples);
        if ((isBetter && firstTree) || work_.shouldStop())
            break;
    }
    return best;
}

// Sweep over a feature for the best tree, or the first one; whether one was found.
bool Node::improve(Index feature, Weight &best, bool firstTree)
{
    auto const before = best;
    for (auto end = sweep(feature, best, 0); end.found; end = sweep(feature, best, end.next))
    {
        best = end.cost;
        best_ = found_;
        if (firstTree)
            break;
    }
    return best < before;
}
}  // namespace hardwood::search
