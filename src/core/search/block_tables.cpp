#include "search/block_tables.h"

#include <algorithm>
#include <cmath>

namespace hardwood::search
{
template <class Number>
BlockTables<Number>::BlockTables(Workspace &work)
    : work_(work),
      problem_(work.problem),
      orders_(static_cast<std::size_t>(work.problem.nFeatures)),
      tables_(static_cast<std::size_t>(work.problem.nFeatures)),
      hasTable_(work.problem.nFeatures)
{
}

template <class Number>
void BlockTables<Number>::open(Span<Sample const> ids)
{
    auto const n = problem_.nSamples;
    auto const p = problem_.nFeatures;
    size_ = ids.size();
    root_ = -1;
    makeRoom(label_, size_, n);
    makeRoom(weight_, size_, n);
    makeRoom(position_, size_, n);
    makeRoom(before_, size_ + 1, n + 1);
    makeRoom(entries_, p * size_, p * n);
    makeRoom(block_, p * size_, p * n);
    for (Index k = 0; k < size_; ++k)
        label_[k] = problem_.label[ids[k]];
}

template <class Number>
void BlockTables<Number>::order(Index feature, Span<Sample const> places, Span<Rank const> rank)
{
    auto const entries = entries_.view().part(feature * size_, size_);
    auto &[begin, isDivided, hasBlocks] = orders_[static_cast<std::size_t>(feature)];
    begin.assign(1, 0);
    isDivided.clear();
    hasBlocks = false;
    // As many blocks as make a table of about four numbers per sample.
    auto const wanted = std::sqrt(4.0 * static_cast<double>(size_) / static_cast<double>(problem_.nClasses));
    auto const nBlocks = std::clamp<Index>(static_cast<Index>(wanted), 1, mostBlocks);
    auto const width = (size_ + nBlocks - 1) / nBlocks;
    Index first = 0;
    bool divided = false;
    for (Index k = 0; k < size_; ++k)
    {
        auto const isLast = k + 1 == size_ || rank[k + 1] != rank[k];
        entries[k] = places[k] | (isLast ? lastOfTies : 0);
        if (!isLast)
            continue;
        divided = divided || (k > first && rank[k] != rank[first]);
        if (k + 1 - first < width && k + 1 < size_)
            continue;
        begin.push_back(static_cast<Sample>(k + 1));
        isDivided.push_back(divided ? 1 : 0);
        first = k + 1;
        divided = false;
    }
}

template <class Number>
void BlockTables<Number>::takeWeights(Span<Weight const> weight)
{
    root_ = -1;
    for (Index k = 0; k < size_; ++k)
        weight_[k] = static_cast<Number>(weight[k]);
}

template <class Number>
void BlockTables<Number>::begin(Index feature)
{
    work_.lookedAt(2 * size_);
    root_ = feature;
    std::fill(hasTable_.begin(), hasTable_.end(), std::uint8_t{0});
    auto const entries = this->entries(feature);
    auto const &order = orderOf(feature);
    auto const k = problem_.nClasses;
    makeRoom(classesBefore_, (order.nBlocks() + 1) * k, (mostBlocks + 1) * k);
    std::fill(classesBefore_.begin(), classesBefore_.begin() + k, Number{0});
    Weight sum = 0;
    for (Index block = 0; block < order.nBlocks(); ++block)
    {
        auto const row = classesBefore_.view().part((block + 1) * k, k);
        std::copy(row.begin() - k, row.begin(), row.begin());
        for (Index m = order.firstOf(block); m < order.firstOf(block + 1); ++m)
        {
            auto const place = placeOf(entries[m]);
            position_[place] = static_cast<Sample>(m);
            before_[m] = sum;
            sum += weight_[place];
            row[label_[place]] += weight_[place];
        }
    }
    before_[size_] = sum;
}

template <class Number>
Span<std::uint8_t const> BlockTables<Number>::blocksOf(Index feature)
{
    auto const blocks = block_.view().part(feature * size_, size_);
    auto &order = orders_[static_cast<std::size_t>(feature)];
    if (!order.hasBlocks)
    {
        auto const entries = this->entries(feature);
        for (Index block = 0; block < order.nBlocks(); ++block)
            for (Index m = order.firstOf(block); m < order.firstOf(block + 1); ++m)
                blocks[placeOf(entries[m])] = static_cast<std::uint8_t>(block);
        order.hasBlocks = true;
    }
    return blocks;
}

template <class Number>
Span<Number const> BlockTables<Number>::tableOf(Index feature)
{
    auto &table = tables_[static_cast<std::size_t>(feature)];
    auto const &order = orderOf(root_);
    auto const k = problem_.nClasses;
    auto const width = orderOf(feature).nBlocks() * k;
    auto const size = (order.nBlocks() + 1) * width;
    if (hasTable_[feature] == 0)
    {
        work_.scanned(size_);
        makeRoom(table, size, (mostBlocks + 1) * mostBlocks * k);
        auto const block = blocksOf(feature);
        auto const entries = this->entries(root_);
        std::fill(table.begin(), table.begin() + width, Number{0});
        for (Index r = 0; r < order.nBlocks(); ++r)
        {
            auto const row = table.view().part((r + 1) * width, width);
            std::copy(row.begin() - width, row.begin(), row.begin());
            for (Index m = order.firstOf(r); m < order.firstOf(r + 1); ++m)
            {
                auto const place = placeOf(entries[m]);
                row[block[place] * k + label_[place]] += weight_[place];
            }
        }
        hasTable_[feature] = 1;
    }
    return table.view().part(0, size);
}

template <class Number>
void BlockTables<Number>::countClasses(Index cut, bool isBehind, Span<Number> counts) const
{
    auto const &order = orderOf(root_);
    auto const entries = this->entries(root_);
    auto const k = problem_.nClasses;
    auto const block = order.blockAt(cut);
    auto const row = classesBefore_.view().part(block * k, k);
    std::copy(row.begin(), row.end(), counts.begin());
    for (Index m = order.firstOf(block); m < cut; ++m)
        counts[label_[placeOf(entries[m])]] += weight_[placeOf(entries[m])];
    if (!isBehind)
        return;
    auto const all = classesBefore_.view().part(order.nBlocks() * k, k);
    for (Index c = 0; c < k; ++c)
        counts[c] = all[c] - counts[c];
}

template <class Number>
void BlockTables<Number>::countBlocks(Index feature, Index cut, bool isBehind, Span<Number> counts)
{
    auto const table = tableOf(feature);
    auto const &order = orderOf(root_);
    auto const k = problem_.nClasses;
    auto const width = counts.size();
    auto const block = order.blockAt(cut);
    auto const row = table.part(block * width, width);
    std::copy(row.begin(), row.end(), counts.begin());
    auto const entries = this->entries(root_);
    auto const blocks = blocksOf(feature);
    for (Index m = order.firstOf(block); m < cut; ++m)
    {
        auto const place = placeOf(entries[m]);
        counts[blocks[place] * k + label_[place]] += weight_[place];
    }
    work_.scanned(cut - order.firstOf(block) + width);
    if (!isBehind)
        return;
    auto const all = table.part(order.nBlocks() * width, width);
    for (Index c = 0; c < width; ++c)
        counts[c] = all[c] - counts[c];
}

template class BlockTables<std::int32_t>;
template class BlockTables<Weight>;
}  // namespace hardwood::search
