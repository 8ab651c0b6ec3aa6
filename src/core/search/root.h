// The root of the search, shared out to threads.
//
// A stage asks for a tree that costs less than a target. Its work items are parts of the root: a feature and a range of
// its candidates, at first all of them. Threads take items from one queue, those of features that they had before
// first, because what a thread remembers below the root is about these; a thread without work is given half of what
// another one still has to do at the root. A single candidate that only branching could settle comes last: a better
// tree from elsewhere may spare it. Where the children of the root are stumps, threads work on one feature side by
// side: they begin with the features that were hardest to rule out in the last stage, tell each other what they have
// settled, go on from the shares of whoever was there last, and look at late candidates as ranges again once a better
// tree is known. All share the incumbent: a better tree lowers everybody's cutoff at the next threshold. They tell each
// other the trees that their children were answered with (see Pool), and begin a stage with what any of them has proven
// about the root. If all items are settled, no tree costs less than the cutoff.
//
// Python starts a stage and then waits in short turns, so that it can answer to signals; it takes the trees, tells the
// user, and stops the threads by the Control of the run or by `stop`.
//
// A search may also be one of several, in threads, processes or on machines of their own: then it is given parts of the
// root to start with, is told better costs from elsewhere (`offer`), gives parts back (`giveBack`) and says which
// candidates it has settled with which bound (`takeSettled`), which holds whoever asks.
//
// Where there is nothing to give back at the root, a search can be helped with the question that it has just asked one
// of the root's children (`askQuestion`): the same problem one level down, with weights of its own. Whoever helps is a
// search of its own for that problem, begins with the thresholds that come last here, and what it settles or finds is
// handed over
// (`help`), which this search takes note of between two thresholds of the child. Nobody waits for anybody. In a proof
// the helper's records stand in the claim that they are about, at places of their own (TWIN), until the question is
// over.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "search/node.h"

namespace hardwood::search
{
struct FoundTree
{
    Weight cost;
    Tree tree;
};

// A part of the root: the candidates first..end-1 of a feature.
struct RootPart
{
    Index feature;
    Index first;
    Index end;
};

struct SettledPart
{
    RootPart part;
    Weight bound;  // no tree that splits the root there costs less
};

// What was proven since the last piece, and what the search knows behind it.
struct ProofPiece
{
    std::vector<std::uint8_t> records;
    std::vector<SettledPart> settled;
    std::vector<std::uint8_t> state;
};

// What somebody else has settled of a question, or a tree that answers it.
struct Help
{
    Index place;  // of the helper's root in the proof
    std::vector<SettledPart> settled;
    std::vector<std::uint8_t> records;
    std::optional<FoundTree> answer;
};

struct StageReport
{
    std::vector<FoundTree> trees;  // since the last report, each better than the one before
    Index nSettled = 0;
    Index nItems = 0;
    bool isRunning = false;
};

class RootSearch
{
    using Item = RootPart;
    using LeftShares = std::shared_ptr<Array<Share> const>;
    // How often a thread that waits looks whether it has to stop.
    static constexpr auto look = std::chrono::milliseconds(20);

    class Worker final : public Sharing, public Visitor
    {
        RootSearch &root_;
        Index const number_;
        Workspace work_;
        Node &node_;
        bool isOpen_ = false;
        std::size_t nHeard_ = 0;               // trees of `told_` that were passed on, or are its own
        std::vector<std::size_t> nLearned_;    // by feature: entries of `proven_` that it knows
        std::vector<LeftShares> sharesKnown_;  // by feature: those that it began with or left

        static constexpr Index fewAhead = 8;  // fewer candidates are given away only to who waits

        void settle(Item const &item);
        // Begin a feature with the shares that whoever was there last ended with, and leave one's own.
        void takeShares(Index feature);
        void leaveShares(Index feature);

    public:
        Worker(RootSearch &root, Index number, Index depth, Options const &options, Control &control, ProofLog *proof);
        [[nodiscard]] bool isHeld() const { return number_ >= root_.nUsed_; }
        void open();
        [[nodiscard]] bool isOpen() const { return isOpen_; }
        void begin() { std::fill(nLearned_.begin(), nLearned_.end(), std::size_t{0}); }
        void run();
        // Take note of what other threads have settled of a feature in this stage.
        void learn(Index feature);
        [[nodiscard]] Weight cutoff() override { return root_.cutoff(); }
        [[nodiscard]] bool giveAway(Index feature, Index first, Index end) override;
        void putOff(Index feature, Index candidate, Weight cutoff) override;
        void missed(Weight cost, Tree const &tree) override;
        void settled(Index feature, Index first, Index last, Weight bound) override;
        void tell(Index side, Tree const &tree) override;
        [[nodiscard]] std::vector<std::pair<Index, Tree>> news() override;
        // Somebody asks for a piece or a question, or helps.
        [[nodiscard]] bool isDue() const override { return root_.isVisitDue_.load(std::memory_order_relaxed); }
        void visit(Node &node, Weight cutoff) override;
        void questionBegins() override;
        void questionEnds() override;
        [[nodiscard]] std::vector<std::uint8_t> state(Index level) const;
        void load(Span<std::uint8_t const> state);
        [[nodiscard]] Node const &node() const { return node_; }
        // What another thread has proven about the root; nothing is known of one that did not begin.
        void learnFrom(Worker const &other)
        {
            if (isOpen_ && other.isOpen_)
                node_.learnFrom(other.node_);
        }
        // Whether it has worked; and how, for one that has not.
        [[nodiscard]] bool isExperienced() const { return isOpen_ && work_.nScanned() > 0; }
        void beginFrom(Worker const &other) { node_.beginFrom(other.node_); }
        [[nodiscard]] Workspace const &workspace() const { return work_; }
        [[nodiscard]] bool shouldStop() { return work_.shouldStop(); }
        void setEffort(Index effort) { work_.setEffort(effort); }
    };

    Problem const &problem_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::atomic<bool> abandoned_{false};
    std::atomic<Weight> best_{0};
    std::atomic<Weight> target_{0};
    std::atomic<Index> nIdle_{0};
    std::atomic<bool> isAskedForWork_{false};
    std::atomic<bool> isStoreEmpty_{false};  // whether nothing but late items is left for who comes next
    std::atomic<bool> isVisitDue_{false};
    ProofLog *proof_;

    std::mutex mutex_;
    std::condition_variable changed_;
    // Guarded by the mutex:
    std::deque<Item> items_;
    Weight putOffBelow_ = 0;  // the largest cutoff at which one of the late items was put off
    std::vector<FoundTree> found_;
    struct Missed
    {
        FoundTree best{everything, {}};
        bool isNew = false;
    };
    std::vector<Missed> missed_;  // by feature of the root: the cheapest in this stage
    std::vector<SettledPart> settled_;
    std::vector<SettledPart> unwritten_;  // settled since the last piece
    std::optional<ProofPiece> piece_;
    bool isPieceWanted_ = false;
    bool isPieceForHelp_ = false;  // cut at the root only, without a state
    Index question_ = 0;           // number of the last question to a child of the root
    bool isAsking_ = false;        // whether it is not answered yet
    bool wasHelped_ = false;       // whether the records speak of helpers
    double leastSeconds_ = -1;     // a question is wanted that has been asked for so long; negative: none
    bool isHolding_ = false;       // whether every question is wanted, and stands still until it is let go
    bool isStanding_ = false;
    std::chrono::steady_clock::time_point asked_;
    std::optional<Question> published_;
    std::vector<Help> help_;
    struct Told
    {
        Worker const *by = nullptr;  // null: another search
        Index side = 0;
        Tree tree;
    };
    std::vector<Told> told_;
    std::size_t nTaken_ = 0;             // trees of `told_` that others have been told
    bool isTelling_;                     // whether there is anybody to tell
    std::vector<Worker const *> owner_;  // by feature: who worked on it last
    std::vector<Index> scans_;           // by feature: how many the last stage took, as far as it got
    struct Proven
    {
        Worker const *by;
        SettledPart settled;
    };
    std::vector<LeftShares> sharesLeft_;       // by feature: those of whoever was there last; likewise
    std::vector<std::vector<Proven>> proven_;  // by feature: in this stage, where threads work on one side by side
    std::exception_ptr failure_;
    Index nItems_ = 0;
    Index nSettled_ = 0;
    Index nBusy_ = 0;
    Index nSweeping_ = 0;  // of these, with more than one candidate
    Index nRunning_ = 0;
    Index nUsed_;  // threads that may take items

    std::mutex ending_;                  // guards the threads: a search may be ended by several at once
    std::vector<std::jthread> threads_;  // the last member: they end before anything that they use

    [[nodiscard]] Index nThreads() const { return static_cast<Index>(workers_.size()); }
    // Whether nodes below the root remember what they were asked.
    [[nodiscard]] bool isRemembering() const { return workers_.front()->node().depth() > 2; }
    // Whether threads work on one feature side by side.
    [[nodiscard]] bool isSideBySide() const { return nThreads() > 1 && !isRemembering(); }
    // Whether who begins with a feature goes on from the shares of whoever was there last.
    [[nodiscard]] bool handsOverShares() const
    {
        return isSideBySide() && !problem_.sharesNothing && !problem_.isLarge();
    }
    void openWorkers();
    void teachBeginners();
    void setOut(std::optional<std::vector<RootPart>> const &parts);
    void makeItems();
    // A single candidate is mostly one that was put off, and comes last.
    [[nodiscard]] static bool isLate(Item const &item) { return item.end - item.first == 1; }
    [[nodiscard]] bool hasItem() const;
    void noteStore() { isStoreEmpty_ = nUsed_ > 1 && std::all_of(items_.begin(), items_.end(), isLate); }
    void joinLate();
    [[nodiscard]] std::optional<Item> take(Worker &worker);
    void finish(Item const &item, Index scans, bool isSettled);
    void report(Weight cost, Tree const &tree);
    void runWorker(Worker &worker);
    void cutPiece(std::vector<std::uint8_t> state);
    [[nodiscard]] bool publish(Node const &child, Weight cutoff);
    void takeHelp(Node &child, Weight cutoff);
    void noteVisits() { isVisitDue_ = isPieceWanted_ || leastSeconds_ >= 0 || !help_.empty(); }

public:
    // With a proof to be written there is one thread, so that its records stand in order.
    RootSearch(Problem const &problem, Options const &options, Index depth, Index nThreads, Control &control,
               ProofLog *proof = nullptr);
    ~RootSearch() { stop(); }
    RootSearch(RootSearch const &) = delete;
    RootSearch &operator=(RootSearch const &) = delete;

    // Let only so many threads take work, as long as others are of more use elsewhere; all of them at first.
    void useThreads(Index nThreads);

    // Let every thread give up when it has scanned so many samples, all stages together.
    void setEffort(Index effort)
    {
        for (auto &worker : workers_)
            worker->setEffort(effort);
    }

    // Look for trees that cost less than the target and less than `best` by a step, in all of the root or in some
    // parts of it; returns at once.
    void start(Weight target, Weight best, std::optional<std::vector<RootPart>> const &parts = std::nullopt);
    // What happened since the last report; waits so many seconds, or until the threads have ended.
    [[nodiscard]] StageReport wait(double seconds);
    // End all threads and wait for them; also while somebody else does.
    void stop();

    // The cheapest tree of a feature of the root that was not cheap enough and has not been taken yet; nothing if there
    // is none. At depth 2 only.
    [[nodiscard]] std::optional<Tree> takeMissed();

    // A tree of this cost is known elsewhere.
    void offer(Weight cost);
    // Take back parts that no thread has begun, half of them; if there are none, a thread is asked to give away half of
    // what it does, which the next call finds.
    [[nodiscard]] std::vector<RootPart> giveBack();
    // The trees that children of the root were answered with, since the last call, with the side of each; and take note
    // of some of another search, which guide this one and prove nothing.
    [[nodiscard]] std::vector<std::pair<Index, Tree>> takeTold();
    void hear(std::vector<std::pair<Index, Tree>> const &trees);
    // What was settled since the last call. A proof's records of it have been written by then.
    [[nodiscard]] std::vector<SettledPart> takeSettled();
    // With a proof: what was written and settled since the last piece, and the state behind it; nothing if the thread
    // does not come to an end of a threshold within so many seconds.
    [[nodiscard]] std::optional<ProofPiece> takePiece(double seconds, bool isForHelp = false);
    // The question to a child of the root that is being searched, if it has been for so many seconds, and its number;
    // if none is known yet, the next call may find one. For searches of one thread.
    [[nodiscard]] std::optional<std::pair<Index, Question>> askQuestion(double leastSeconds);
    // Whether the question is still open, and the help was taken.
    bool help(Index question, Help help);
    // Stand still at the first threshold of every question from now on, and tell it to whoever asks, until the next
    // call: so that who helps with it does not depend on the moment.
    void holdQuestions(bool isHolding);
    // Go on from the state of a search that has ended, behind its records: claims that were open are given up. For a
    // search with a proof that has not begun.
    void load(Span<std::uint8_t const> state);
    // Thresholds of a feature that need to be searched.
    [[nodiscard]] Index nCandidates(Index feature);
    [[nodiscard]] Index nFeatures() const { return problem_.nFeatures; }
    [[nodiscard]] Index depth() const { return workers_.front()->node().depth(); }
    [[nodiscard]] Problem const &problem() const { return problem_; }

    // A tree of interest costs less than this. After a stage in which all items were settled: no tree does.
    [[nodiscard]] Weight cutoff() const { return std::min(target_.load(), best_.load() - problem_.step + 1); }
    [[nodiscard]] Weight best() const { return best_; }
    [[nodiscard]] Counters countersOf(Index depth) const;
    // Samples or blocks that the busiest thread has scanned; between two stages.
    [[nodiscard]] Index nScanned() const;
};
}  // namespace hardwood::search
