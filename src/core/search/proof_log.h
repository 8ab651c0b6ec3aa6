// What a search proves, written down as it goes: the records of docs/proof_format.md.
//
// A search that prunes writes nothing but what whoever checks it needs to prune as well: which range of thresholds, how
// the weight of shared samples was divided, on which samples it branched, and which claims of the children it relied
// on. What earlier claims remembered is not written: it follows, by the rule of Memory, from records that stand before.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "search/problem.h"

namespace hardwood::search
{
class ProofLog
{
    enum class Kind : std::uint8_t
    {
        range = 1,
        shares,
        settle,
        branch,
        child,
        proven,
        abandoned,
        join,
        drop,
        packing,
        bound,
        end,
        reset,
        note,
        twin,
        forget
    };

    std::mutex mutex_;
    std::vector<std::uint8_t> bytes_;
    std::vector<std::uint32_t> sampleNumber_;
    Index firstPlace_;
    std::vector<std::uint32_t> changed_;  // scratch

    template <class T>
    void put(T value)
    {
        for (std::size_t k = 0; k < sizeof(T); ++k)
            bytes_.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> (8 * k)));
    }
    void put(Kind kind) { bytes_.push_back(static_cast<std::uint8_t>(kind)); }

public:
    // Places from this number on are those of searches that help (see root.h).
    static constexpr Index helpers = 1 << 12;

    // `sampleNumber`: how the proof numbers the samples of the search; `firstPlace`: the number of its root.
    explicit ProofLog(std::vector<std::uint32_t> sampleNumber, Index firstPlace = 0)
        : sampleNumber_(std::move(sampleNumber)), firstPlace_(firstPlace)
    {
    }

    [[nodiscard]] Index nSamples() const { return static_cast<Index>(sampleNumber_.size()); }

    // The thresholds of the search from `first` up to but not including `end`.
    void range(Index feature, Rank first, Rank end)
    {
        std::lock_guard const lock(mutex_);
        put(Kind::range);
        put(static_cast<std::uint32_t>(feature));
        put(static_cast<std::uint32_t>(first));
        put(static_cast<std::uint32_t>(end - 1));
    }

    // The shares that differ from what was written last for this node and feature.
    void shares(Span<Sample const> ids, Span<std::uint32_t const> share, Span<std::uint32_t> written)
    {
        changed_.clear();
        for (auto const i : ids)
            if (share[i] != written[i])
            {
                changed_.push_back(i);
                written[i] = share[i];
            }
        if (changed_.empty())
            return;
        std::lock_guard const lock(mutex_);
        put(Kind::shares);
        put(static_cast<std::uint32_t>(changed_.size()));
        for (auto const i : changed_)
            put(sampleNumber_[i]);
        for (auto const i : changed_)
            put(share[i]);
    }

    void branch(Index sample)
    {
        std::lock_guard const lock(mutex_);
        put(Kind::branch);
        put(sampleNumber_[static_cast<std::size_t>(sample)]);
    }

    void child(Index side, Index place, Weight target)
    {
        std::lock_guard const lock(mutex_);
        put(Kind::child);
        put(static_cast<std::uint8_t>(side));
        put(static_cast<std::uint32_t>(firstPlace_ + place));
        put(target);
    }

    // What another search proved about the present claim, at a place of its own.
    void twin(Index place, std::vector<std::uint8_t> const &records)
    {
        std::lock_guard const lock(mutex_);
        put(Kind::twin);
        put(static_cast<std::uint32_t>(place));
        bytes_.insert(bytes_.end(), records.begin(), records.end());
        put(Kind::abandoned);
    }

    // The places of searches that helped are not spoken of any more.
    void forgetHelpers()
    {
        std::lock_guard const lock(mutex_);
        put(Kind::forget);
        put(static_cast<std::uint32_t>(helpers));
    }

    void bound(Weight value)
    {
        std::lock_guard const lock(mutex_);
        put(Kind::bound);
        put(value);
    }

    void settled() { mark(Kind::settle); }
    // The claim about a child is proven, or was given up.
    void ended(bool isProven) { mark(isProven ? Kind::proven : Kind::abandoned); }
    void joined() { mark(Kind::join); }
    void dropped() { mark(Kind::drop); }

    // Hand over what was written since the last call.
    [[nodiscard]] std::vector<std::uint8_t> take()
    {
        std::lock_guard const lock(mutex_);
        return std::exchange(bytes_, {});
    }

private:
    void mark(Kind kind)
    {
        std::lock_guard const lock(mutex_);
        put(kind);
    }
};
}  // namespace hardwood::search
