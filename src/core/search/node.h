// One node of the search: its samples, its thresholds, and what is remembered of them.
//
// A node is asked: is there a tree of at most `depth` splits on a path that costs less than a cutoff? It holds the
// samples that reach it (for a range of thresholds above: at every one of them), tries a plain leaf, then sweeps over
// the thresholds of one feature after the other. Nodes of depth 2 (`DepthTwo`) have stumps for children, deeper ones
// (`Deeper`) have nodes.
//
// Thresholds that matter. As a threshold grows, the left child grows at lower ends and the right child shrinks at upper
// ends. Both want to be small, so a threshold is needed only if the end before it is an upper and the next one a lower
// end: any other one can be moved so that one child shrinks and the other stays. Each such candidate stands for a cell
// of thresholds that it dominates, and what is proven for it holds for its cell.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "control.h"
#include "search/branching.h"
#include "search/memory.h"
#include "search/placed_ranks.h"
#include "search/proof_log.h"
#include "search/tree.h"

namespace hardwood::search
{
// What a sample charges to the left and the right child.
struct Parts
{
    Weight left;
    Weight right;
};

// What part of a sample's weight the left child charges, in 2^32nds; the largest number stands for all of it.
using Share = std::uint32_t;
inline constexpr Share half = Share{1} << 31;
inline constexpr Share whole = std::numeric_limits<Share>::max();

// The part of a weight, rounded down: the two halves of the weight one after the other, so that nothing overflows.
inline Weight partOf(Weight weight, Share share)
{
    auto const w = static_cast<std::uint64_t>(weight);
    auto const part = (w >> 32) * share + (((w & whole) * share) >> 32);
    return share == whole ? weight : static_cast<Weight>(part);
}

// The least share that makes the part so large: exact for weights up to 2^31, else as close as the shares allow.
inline Share shareOf(Weight part, Weight weight)
{
    auto w = static_cast<std::uint64_t>(weight);
    auto p = static_cast<std::uint64_t>(part);
    if (p == w)
        return whole;
    for (; w > half; w >>= 1)
        p >>= 1;
    return static_cast<Share>(std::min<std::uint64_t>(((p << 32) + w - 1) / w, whole));
}

// Divide a sample's weight between the children that it reaches. One that must be correct charges more than any tree
// costs to both; one that was given up has been paid for. Whatever the share, left + right = weight for the others, so
// the two children's optima bound the cost of the split from below.
inline Parts divide(Weight weight, Mark mark, bool toLeft, bool toRight, Share share, Weight forbidden)
{
    if (mark == Mark::givenUp)
        return {0, 0};
    if (mark == Mark::mustBeCorrect)
        return {toLeft ? forbidden : 0, toRight ? forbidden : 0};
    auto const part = partOf(weight, share);
    return {toLeft ? (toRight ? part : weight) : 0, toRight ? (toLeft ? weight - part : weight) : 0};
}

// The share of its weight that the left child charges for a sample, by feature: where it ended at the last threshold is
// the best first guess at the next one. On a large table only those of the features that were asked for last are kept.
class Shares
{
    std::vector<Array<Share>> share_;
    std::vector<Array<Share>> written_;  // what a proof says of them, if one is written
    std::vector<std::uint8_t> mayDiffer_;
    Index nSamples_;
    LastAsked kept_;

    [[nodiscard]] Span<Share> kept(Index feature)
    {
        if (auto const oldest = kept_.ask(feature); oldest >= 0)
        {
            share_[static_cast<std::size_t>(oldest)] = {};
            mayDiffer_[static_cast<std::size_t>(oldest)] = 1;
        }
        return in(share_, feature);
    }
    [[nodiscard]] Span<Share> in(std::vector<Array<Share>> &all, Index feature) const
    {
        auto &share = all[static_cast<std::size_t>(feature)];
        if (share.empty())
            share = Array<Share>(nSamples_, half);
        return share.view();
    }

public:
    explicit Shares(Problem const &problem)
        : share_(static_cast<std::size_t>(problem.nFeatures)),
          written_(static_cast<std::size_t>(problem.nFeatures)),
          mayDiffer_(static_cast<std::size_t>(problem.nFeatures), 1),
          nSamples_(problem.nSamples),
          kept_(problem)
    {
    }
    [[nodiscard]] Span<Share const> of(Index feature) { return kept(feature); }
    [[nodiscard]] Array<Share> copyOf(Index feature) { return Array<Share>::copy(of(feature)); }
    void startFrom(Index feature, Span<Share const> shares)
    {
        auto const own = change(feature);
        std::copy(shares.begin(), shares.end(), own.begin());
    }
    void copyFrom(Shares const &other)
    {
        for (std::size_t j = 0; j < share_.size(); ++j)
            share_[j] = Array<Share>::copy(other.share_[j].view());
    }
    [[nodiscard]] Span<Share> change(Index feature)
    {
        mayDiffer_[static_cast<std::size_t>(feature)] = 1;
        return kept(feature);
    }
    // Write what differs from what was written, for the samples of a node, to a proof. Most of the time nothing has
    // changed since the last time; where the node has got other samples, that is not known (`reopen`).
    void write(Index feature, Span<Sample const> ids, ProofLog &proof)
    {
        if (std::exchange(mayDiffer_[static_cast<std::size_t>(feature)], std::uint8_t{0}) != 0)
            proof.shares(ids, of(feature), in(written_, feature));
    }
    void reopen() { std::fill(mayDiffer_.begin(), mayDiffer_.end(), std::uint8_t{1}); }
    void forget(Index feature)
    {
        auto const share = change(feature);
        std::fill(share.begin(), share.end(), half);
    }
    // What the records say of the shares; whoever goes on starts from that.
    void save(StateWriter &state) const
    {
        for (auto const &written : written_)
        {
            state.put(static_cast<std::uint8_t>(written.empty() ? 0 : 1));
            state.putShort<Share>(written.view());
        }
    }
    void load(StateReader &state)
    {
        for (std::size_t j = 0; j < written_.size(); ++j)
        {
            written_[j] = Array<Share>(state.get<std::uint8_t>() == 0 ? 0 : nSamples_);
            state.getShort(written_[j].view());
            share_[j] = Array<Share>::copy(written_[j].view());
            if (!share_[j].empty())
                static_cast<void>(kept(static_cast<Index>(j)));
        }
    }
};

// The undominated thresholds of a feature and the first threshold of the cell of each.
struct Candidates
{
    std::vector<Rank> threshold;
    std::vector<Rank> cell;
    Rank end = 0;  // behind the last cell: from here on all samples reach left

    [[nodiscard]] Index size() const { return static_cast<Index>(threshold.size()); }
    [[nodiscard]] Rank at(Index k) const { return threshold[static_cast<std::size_t>(k)]; }
    [[nodiscard]] Rank firstOfCell(Index k) const { return cell[static_cast<std::size_t>(k)]; }
    [[nodiscard]] Rank endOfCell(Index k) const { return k + 1 < size() ? firstOfCell(k + 1) : end; }
};

// Where a sweep over the thresholds of a feature ended: with a tree below the cutoff (then it can go on from `next`),
// or without one.
struct SweepEnd
{
    bool found;
    Weight cost;
    Index next;
};

// What the thread that owns the root shares with the others; asked between two thresholds of the root.
class Sharing
{
public:
    virtual ~Sharing() = default;
    [[nodiscard]] virtual Weight cutoff() = 0;
    // Offer the candidates first..end-1 of a feature to a thread without work; whether one takes them.
    [[nodiscard]] virtual bool giveAway(Index feature, Index first, Index end) = 0;
    // Put off a candidate that is hard to settle below the cutoff until the others have been looked at.
    virtual void putOff(Index feature, Index candidate, Weight cutoff) = 0;
    // A tree that is not cheap enough, but may be close to one that is.
    virtual void missed(Weight cost, Tree const &tree) = 0;
    // No tree that splits the root at one of the candidates first..last of the feature costs less than the bound.
    virtual void settled(Index feature, Index first, Index last, Weight bound) = 0;
    // A tree that a child answered with, for the others' pools; and what the others have told since the last call.
    virtual void tell(Index side, Tree const &tree) = 0;
    [[nodiscard]] virtual std::vector<std::pair<Index, Tree>> news() = 0;
};

class Node;

// Someone who may want to look at a search between two thresholds of whichever node is at work.
class Visitor
{
public:
    virtual ~Visitor() = default;
    [[nodiscard]] virtual bool isDue() const = 0;
    // The node looks for a tree below the cutoff.
    virtual void visit(Node &node, Weight cutoff) = 0;
    // A question to a child of the root begins, or ends.
    virtual void questionBegins() = 0;
    virtual void questionEnds() = 0;
};

// A question to a node: is there a tree below the target? With all that whoever helps to answer it needs to know.
struct Question
{
    std::vector<Index> samples;
    std::vector<Weight> weight;  // of these
    Weight target;
    std::vector<std::array<Index, 3>> open;  // feature, first and end of candidates, those that are next first
};

// What the nodes of one thread have in common, and the owner of all of them.
class Workspace
{
    // Down to this level every node has children of its own. Below, the nodes of a level share two, left and right:
    // only one path is ever looked at, and what is remembered holds for any samples and weights (see Memory).
    static constexpr Index separateLevels = 9;

    std::deque<std::unique_ptr<Node>> nodes_;
    std::map<std::pair<Index, Index>, Node *> shared_;  // by (depth, side)
    Control &control_;
    std::atomic<bool> const *abandoned_ = nullptr;
    static constexpr Index lookEvery = 100'000;  // samples: a fraction of a millisecond
    Index effortLeft_ = std::numeric_limits<Index>::max();
    Index nScanned_ = 0;
    Index sinceLook_ = lookEvery;
    bool asksCaller_ = false;

    Node &create(Index level, Index depth);

public:
    Problem const &problem;
    Options const options;
    Array<std::int32_t> place;  // scratch: where a sample stands in the node that is being filled, or -1
    Array<Event> kept;          // scratch: the ends of one feature at that node
    Array<Event> sorted;        // scratch: those of all samples, where the problem does not keep them
    Array<std::uint8_t> member;
    Array<Weight> classWeight;                       // scratch: one row
    std::array<std::vector<std::uint64_t>, 2> ends;  // scratch: bits of ranks that are lower ends, or upper ones

    Workspace(Problem const &problem, Options const &options, Control &control);
    ~Workspace();

    // Whether stumps are found by counting samples by blocks of ranks (see CoarseScan): then no node needs ends in
    // order.
    [[nodiscard]] bool isCoarse() const;
    // Whether the candidates of a feature are listed when they are asked for: those of all features of a large table
    // take half as much memory as the table.
    [[nodiscard]] bool listsLate() const;

    [[nodiscard]] Node &root(Index depth) { return create(0, depth); }
    [[nodiscard]] Node &child(Index parentLevel, Index parentDepth, Index side);

    // Write down what is proven; null: do not.
    ProofLog *proof = nullptr;
    Visitor *visitor = nullptr;

    // What is known at all nodes (see state.h); `load` is for a workspace that has a root and no other node.
    [[nodiscard]] std::vector<std::uint8_t> save() const;
    void load(StateReader &state);

    // End the search at its next look also when this flag is set.
    void endWhen(std::atomic<bool> const &abandoned) { abandoned_ = &abandoned; }
    // A budget: the search ends when so many samples have been scanned; a measure that no machine's speed changes.
    void setEffort(Index effort) { effortLeft_ = effort; }
    // Note that so many samples were scanned, or looked at otherwise.
    void scanned(Index samples)
    {
        effortLeft_ -= samples;
        nScanned_ += samples;
        lookedAt(samples);
    }
    [[nodiscard]] Index nScanned() const { return nScanned_; }
    void lookedAt(Index samples) { sinceLook_ += samples + 1; }
    // The search runs in the thread that was called: ask what the caller has to say, too (a signal, say).
    void askCaller() { asksCaller_ = true; }
    // Whether to stop; the clock is asked only now and then, but once it has said so, the answer stays.
    [[nodiscard]] bool shouldStop()
    {
        if (effortLeft_ < 0 || control_.stopRequested() ||
            (abandoned_ != nullptr && abandoned_->load(std::memory_order_relaxed)))
            return true;
        if (sinceLook_ < lookEvery)
            return false;
        sinceLook_ = 0;
        return asksCaller_ ? control_.shouldStopOrPoll() : control_.shouldStop();
    }

    [[nodiscard]] Counters countersOf(Index depth) const;
    [[nodiscard]] Index scans() const;
    [[nodiscard]] Index nNodes() const { return static_cast<Index>(nodes_.size()); }
};

class Node
{
    Memory memory_;
    // By feature. Without an order of the ends a feature's are listed when they are first asked for; of a large table
    // only those of one feature are kept.
    mutable std::vector<Candidates> candidates_;
    mutable Array<std::uint8_t> isListed_;
    mutable Array<Index> nCandidates_;
    mutable Index lastListed_ = -1;
    std::vector<Index> featureOrder_;  // the feature of the last answer first

protected:
    Workspace &work_;
    Problem const &problem_;
    Index const number_;  // of the node in its workspace, 0: the root of the search
    Index const level_;
    Index const depth_;
    Shares shares_;
    Index size_ = 0;
    Array<Sample> ids_;              // the samples at the node, in order
    Array<Weight> weight_;           // by sample; 0 outside the node
    Array<std::uint8_t> isCertain_;  // by sample: reaches no other node of this level
    std::vector<Rank> active_;       // candidates of the swept feature that memory leaves open
    Index width_ = 1;                // candidates that a range takes at first
    Index first_ = 0;                // the part of a feature's candidates that is searched
    Index end_;
    Branching branching_;                        // by sample, at depth 2 by place
    std::vector<std::pair<Index, Index>> late_;  // feature and candidate: what was put off, where nothing is shared
    Sharing *sharing_ = nullptr;
    Tree found_;                  // what the last sweep found
    Weight answer_ = everything;  // what a tree costs that somebody else found
    Tree best_;                   // what the last question was answered with
    Counters counters_;

    // Note the candidates of a feature from its events at the node, given in order.
    void noteCandidates(Index feature, Span<Event const> events);
    // The same without an order, from the ranks of the samples at the node.
    void listCandidates(Index feature) const;
    // The same where every box is a point, from the ranks of the samples in order.
    void noteValues(Index feature, Span<Rank const> rank);
    [[nodiscard]] Candidates const &candidates(Index feature) const
    {
        if (work_.listsLate() && isListed_[feature] == 0)
            listCandidates(feature);
        return candidates_[static_cast<std::size_t>(feature)];
    }
    // Note, and tell whom the root is shared with, that no tree with a threshold of the cells first..last of the
    // feature costs less than the bound.
    void remember(Index feature, Index first, Index last, Weight bound);
    void listActive(Index feature, Weight cutoff);
    [[nodiscard]] bool improve(Index feature, Weight &best, bool firstTree);
    // For a proof: the candidates first..last of the feature with all their cells; the shares as they are now.
    void writeRange(Index feature, Index first, Index last);
    void writeShares(Index feature);
    [[nodiscard]] Index nActive() const { return static_cast<Index>(active_.size()); }
    [[nodiscard]] Index active(Index k) const { return active_[static_cast<std::size_t>(k)]; }
    // After a success: take twice as many candidates next time.
    void widen()
    {
        if (work_.options.useRanges)
            width_ = std::min(2 * width_, Index{1} << 20);
    }
    // Between two thresholds of the root: take over a better incumbent, give away work. Returns the cutoff to go on
    // with.
    [[nodiscard]] Weight share(Index feature, Index position, Weight cutoff);
    // Whether a candidate that only branching could settle is put off until the others have been looked at: a tree that
    // one of them gives lowers the cutoff, or is all that was asked for. Then it is looked at alone.
    [[nodiscard]] bool canPutOff() const { return work_.options.useLateBranching && end_ - first_ > 1; }
    void putOff(Index feature, Index candidate, Weight cutoff);

    // Keep the ends of the members that `work_.place` names, in order, from those of the node above, or of all samples
    // (see `rowOf`). May leave off when the search must stop: no sweep goes on then.
    virtual void fill(Span<Event const> source, Index sourceWidth) = 0;
    // The ends of a feature of the node above.
    [[nodiscard]] Span<Event const> rowOf(Span<Event const> source, Index sourceWidth, Index feature) const
    {
        return source.empty() ? problem_.eventsOf(feature, work_.sorted)
                              : source.part(feature * sourceWidth, sourceWidth);
    }
    // Called when the weights have changed.
    virtual void takeWeights() {}
    // Let whoever wants to look at the search; the records and what is remembered agree at this moment.
    void receive(Index feature, Index position, Weight cutoff);
    // Whether somebody else has found a tree below the cutoff, which is then in `found_`.
    [[nodiscard]] bool isAnswered() const { return answer_ < everything; }
    [[nodiscard]] SweepEnd takeAnswer(Index next) { return {true, std::exchange(answer_, everything), next}; }

public:
    Node(Workspace &work, Index level, Index depth);
    [[nodiscard]] Index number() const { return number_; }
    [[nodiscard]] Index level() const { return level_; }
    virtual ~Node() = default;
    Node(Node const &) = delete;
    Node &operator=(Node const &) = delete;

    // Take the samples that `work_.member` marks, with their ends from the rows of `source`; empty: the problem's.
    void open(Span<Event const> source, Index sourceWidth);
    // Take the weights of the next question, by sample, 0 outside the node.
    void weigh(Span<Weight const> weight);
    void setCertain(Index sample, bool isCertain) { isCertain_[sample] = isCertain ? 1 : 0; }

    struct Leaf
    {
        Weight cost;
        Label label;
    };
    [[nodiscard]] Leaf bestLeaf() const;

    // Look for a tree below the cutoff that splits the node on the feature, from active candidate `start` on.
    [[nodiscard]] virtual SweepEnd sweep(Index feature, Weight cutoff, Index start) = 0;
    // The cost of a tree below the cutoff, which is then in `best`, or the cutoff if there is none or the search was
    // stopped.
    [[nodiscard]] Weight solve(Weight cutoff, bool firstTree);

    // For whoever helps: the question that the node is at; and what came of it.
    [[nodiscard]] Question question(Weight cutoff) const;
    void learn(Index feature, Index first, Index end, Weight bound);
    void answer(Weight cost, Tree const &tree);

    // For states: the numbers of the children, -1 where there is none yet; what is known here.
    [[nodiscard]] virtual std::array<Index, 2> childNumbers() const { return {-1, -1}; }
    virtual void makeChild(Index) {}
    virtual void save(StateWriter &state) const;
    virtual void load(StateReader &state);

    void search(Index first, Index end) { first_ = first, end_ = end; }
    void shareWith(Sharing *sharing) { sharing_ = sharing; }
    // Take over what another node has proven of its thresholds, for the same weights.
    void learnFrom(Node const &other) { memory_.learnFrom(other.memory_); }
    // Begin as another node has become used to: with its shares, and those of the next nodes below, which guide a
    // search and prove nothing. Not for large tables, of which shares are not all kept.
    virtual void beginFrom(Node const &other);
    // How the weight of samples is shared where a feature was looked at last: whoever goes on there starts from that.
    [[nodiscard]] Array<Share> copyShares(Index feature) { return shares_.copyOf(feature); }
    void startFrom(Index feature, Span<Share const> shares) { shares_.startFrom(feature, shares); }
    [[nodiscard]] Index nCandidates(Index feature) const
    {
        return work_.listsLate() && nCandidates_[feature] >= 0 ? nCandidates_[feature] : candidates(feature).size();
    }
    [[nodiscard]] Tree const &found() const { return found_; }
    [[nodiscard]] Tree const &best() const { return best_; }
    [[nodiscard]] Index depth() const { return depth_; }
    [[nodiscard]] Index size() const { return size_; }
    [[nodiscard]] Span<Sample const> ids() const { return ids_.view().part(0, size_); }
    [[nodiscard]] Counters const &counters() const { return counters_; }
};
}  // namespace hardwood::search
