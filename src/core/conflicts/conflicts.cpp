#include "conflicts/conflicts.h"

#include <bit>
#include <numeric>

#include "sorting.h"

namespace hardwood
{
Pair sweepForConflict(RankBoxes const &boxes, Span<Index const> label, Index feature, Control &control)
{
    Ticker stop(control);
    for (Index i = 0; i != boxes.size(); ++i)
        for (Index k = i + 1; k != boxes.size() && boxes.lower(k, feature) <= boxes.upper(i, feature); ++k)
        {
            if (label[i] != label[k] && meet(boxes, i, boxes, k))
                return {i, k};
            if (stop())
                return {-1, -1};
        }
    return {-1, -1};
}

namespace
{
// The column of ends, first the lower and then the upper ones, on which some boxes lie farthest apart.
class WidestColumn
{
    Grid<Rank const> ends_;
    Index feature_ = 0;
    Index width_ = -1;

    void consider(Grid<Rank const> ends, Span<Index const> number, Span<Rank> least, Span<Rank> most)
    {
        std::copy(ends.row(number[0]).begin(), ends.row(number[0]).end(), least.begin());
        std::copy(least.begin(), least.end(), most.begin());
        for (Index const i : number)
            for (Index j = 0; j != ends.columns(); ++j)
            {
                least[j] = std::min(least[j], ends(i, j));
                most[j] = std::max(most[j], ends(i, j));
            }
        for (Index j = 0; j != ends.columns(); ++j)
            if (Index const width = Index{most[j]} - least[j]; width > width_)
            {
                ends_ = ends;
                feature_ = j;
                width_ = width;
            }
    }

public:
    WidestColumn(RankBoxes const &boxes, Span<Index const> number, Span<Rank> least, Span<Rank> most)
        : ends_(boxes.lower)
    {
        consider(boxes.lower, number, least, most);
        consider(boxes.upper, number, least, most);
    }

    [[nodiscard]] Rank operator()(Index i) const { return ends_(i, feature_); }
};
}  // namespace

void orderNeighbours(RankBoxes const &boxes, Span<Index> number, Index leaf, Control &control)
{
    if (boxes.features() == 0)
        return;
    RankSorter sorter(number.size());
    auto rank = Array<Rank>::unwritten(number.size()), place = Array<Rank>::unwritten(number.size());
    auto before = Array<Index>::unwritten(number.size());
    auto least = Array<Rank>::unwritten(boxes.features()), most = Array<Rank>::unwritten(boxes.features());
    for (std::vector<Span<Index>> open{number}; !open.empty();)
    {
        auto const here = open.back();
        open.pop_back();
        Index const n = here.size();
        if (n <= leaf)
            continue;
        if (control.shouldStopOrPoll())
            return;
        WidestColumn const column(boxes, here, least.view(), most.view());
        for (Index k = 0; k != n; ++k)
        {
            before[k] = here[k];
            rank[k] = column(here[k]);
        }
        sorter.order(rank.view().part(0, n), place.view().part(0, n));
        for (Index k = 0; k != n; ++k)
            here[k] = before[place[k]];
        open.push_back(here.part(0, n / 2));
        open.push_back(here.part(n / 2, n - n / 2));
    }
}

BoxIndex::BoxIndex(RankBoxes rows, RankBoxes columns)
    : rows_(rows), columns_(columns), nBlocks_((columns.size() + block - 1) / block)
{
    orderFeatures();
    boundBlocks();
    chooseBuckets();
    fillTables();
}

// Features by how rarely boxes meet on them, judged by some pairs.
void BoxIndex::orderFeatures()
{
    constexpr Index nPairs = 211, rowStride = 7919, columnStride = 104729;  // primes pair boxes from everywhere
    Index const p = columns_.features();
    feature_ = Array<Index>::unwritten(p);
    std::iota(feature_.begin(), feature_.end(), Index{0});
    if (rows_.size() == 0 || columns_.size() == 0)
        return;
    Array<Index> meeting(p);
    for (Index s = 0; s != nPairs; ++s)
    {
        Index const i = s * rowStride % rows_.size(), k = s * columnStride % columns_.size();
        for (Index j = 0; j != p; ++j)
            meeting[j] +=
                intervalsMeet(rows_.lower(i, j), rows_.upper(i, j), columns_.lower(k, j), columns_.upper(k, j));
    }
    std::stable_sort(feature_.begin(), feature_.end(), [&](Index a, Index b) { return meeting[a] < meeting[b]; });
}

void BoxIndex::boundBlocks()
{
    Index const p = columns_.features();
    blockLower_ = Array<Rank>(nBlocks_ * p, std::numeric_limits<Rank>::max());
    blockUpper_ = Array<Rank>(nBlocks_ * p, std::numeric_limits<Rank>::min());
    for (Index k = 0; k != columns_.size(); ++k)
        for (Index j = 0; j != p; ++j)
        {
            Rank &lower = blockLower_[k / block * p + j], &upper = blockUpper_[k / block * p + j];
            lower = std::min(lower, columns_.lower(k, j));
            upper = std::max(upper, columns_.upper(k, j));
        }
}

// As many buckets as the ranks of the widest feature need, at most 64.
void BoxIndex::chooseBuckets()
{
    constexpr int bucketBits = 6;
    Index const p = columns_.features();
    Array<Rank> largest(p);  // plus one, below
    for (RankBoxes const &boxes : {rows_, columns_})
        for (Index i = 0; i != boxes.size(); ++i)
            for (Index j = 0; j != p; ++j)
                largest[j] = std::max(largest[j], boxes.upper(i, j));
    shift_ = Array<int>(p);
    for (Index j = 0; j != p; ++j)
    {
        auto const most = static_cast<std::uint64_t>(Index{largest[j]} + 1);
        shift_[j] = std::max(static_cast<int>(std::bit_width(most)) - bucketBits, 0);
        nBuckets_ = std::max(nBuckets_, static_cast<Index>(most >> shift_[j]) + 1);
    }
}

void BoxIndex::fillTables()
{
    Index const p = columns_.features();
    begun_ = Array<Bits>(nBlocks_ * p * nBuckets_);
    unended_ = Array<Bits>(nBlocks_ * p * nBuckets_);
    for (Index k = 0; k != columns_.size(); ++k)
    {
        auto const word = static_cast<std::size_t>(k % block / wordBits);
        std::uint64_t const bit = std::uint64_t{1} << (k % wordBits);
        for (Index j = 0; j != p; ++j)
        {
            begun_[place(k / block, j, bucket(columns_.lower(k, j), j))][word] |= bit;
            unended_[place(k / block, j, bucket(columns_.upper(k, j), j))][word] |= bit;
        }
    }
    for (Index b = 0; b != nBlocks_; ++b)
        for (Index j = 0; j != p; ++j)
        {
            for (Index bucket = 1; bucket != nBuckets_; ++bucket)
                for (std::size_t word = 0; word != nWords; ++word)
                    begun_[place(b, j, bucket)][word] |= begun_[place(b, j, bucket - 1)][word];
            for (Index bucket = nBuckets_ - 1; bucket-- != 0;)
                for (std::size_t word = 0; word != nWords; ++word)
                    unended_[place(b, j, bucket)][word] |= unended_[place(b, j, bucket + 1)][word];
        }
}

// Whether the bounding box of a block rules it out for row i, by the features that tell most; a look at the others is
// left to the bitsets.
bool BoxIndex::isApart(Index i, Index b) const
{
    Index const p = columns_.features();
    for (Index a = 0; a != std::min<Index>(p, 4); ++a)
    {
        Index const j = feature_[a];
        if (!intervalsMeet(rows_.lower(i, j), rows_.upper(i, j), blockLower_[b * p + j], blockUpper_[b * p + j]))
            return true;
    }
    return false;
}

// Take away from `hit` the columns of a block that row i cannot meet; whether any are left.
bool BoxIndex::mayMeet(Index i, Index b, Bits &hit) const
{
    Bits left = hit;  // eight words that stay in registers
    for (Index const j : feature_)
    {
        Bits const &begun = begun_[place(b, j, bucket(rows_.upper(i, j), j))];
        Bits const &unended = unended_[place(b, j, bucket(rows_.lower(i, j), j))];
        std::uint64_t any = 0;
        for (std::size_t word = 0; word != nWords; ++word)
        {
            left[word] &= begun[word] & unended[word];
            any |= left[word];
        }
        if (any == 0)
            return false;
    }
    hit = left;
    return true;
}

// Count a column down; when it is spent nobody finds it any more.
void BoxIndex::foundColumn(Index k, Search &search) const
{
    if (search.columnLimit.empty() || --search.columnLimit[k] > 0)
        return;
    for (Index r = 0; r != search.nRestrictions; ++r)
        search.allowed[r * nBlocks_ + k / block][static_cast<std::size_t>(k % block / wordBits)] &=
            ~(std::uint64_t{1} << (k % wordBits));
}

// Find the columns of one row; return their number.
Index BoxIndex::searchRow(Index i, Index restriction, Search &search, std::vector<std::int32_t> &found) const
{
    std::uint64_t const spread = static_cast<std::uint64_t>(i + 1) * 0x9E3779B97F4A7C15U;
    Index const firstBlock = static_cast<Index>(spread >> 33) % nBlocks_;
    int const turn = static_cast<int>((spread >> 20) % wordBits);
    Index size = 0;
    for (Index step = 0; step != nBlocks_ && size < search.limit; ++step)
    {
        Index const b = firstBlock + step < nBlocks_ ? firstBlock + step : firstBlock + step - nBlocks_;
        Bits hit = search.allowed[restriction * nBlocks_ + b];
        bool const anyAllowed = std::any_of(hit.begin(), hit.end(), [](std::uint64_t word) { return word != 0; });
        if (!anyAllowed || isApart(i, b) || !mayMeet(i, b, hit))
            continue;
        for (Index stepWord = 0; stepWord != nWords; ++stepWord)
        {
            Index const word = (stepWord + firstBlock + i) % nWords;
            std::uint64_t bits = std::rotr(hit[static_cast<std::size_t>(word)], turn);
            for (; bits != 0 && size < search.limit; bits &= bits - 1)
            {
                Index const k = b * block + word * wordBits + (std::countr_zero(bits) + turn) % wordBits;
                if (!meet(rows_, i, columns_, k))
                    continue;
                if (search.listed)
                    found.push_back(static_cast<std::int32_t>(k));
                ++size;
                foundColumn(k, search);
            }
        }
    }
    return size;
}

BoxIndex::Found BoxIndex::find(Span<std::int32_t const> row, Span<std::int32_t const> restriction,
                               Grid<bool const> allowed, Index limit, bool listed, Control &control) const
{
    Found found{Array<Index>(row.size()), {}, true};
    if (nBlocks_ == 0 || limit <= 0)
        return found;
    Search search{Array<Bits>(allowed.rows() * nBlocks_), {}, allowed.rows(), limit, listed};
    if (limit != noLimit)
        search.columnLimit = Array<Index>(columns_.size(), limit);
    for (Index r = 0; r != allowed.rows(); ++r)
        for (Index k = 0; k != allowed.columns(); ++k)
            if (allowed(r, k))
                search.allowed[r * nBlocks_ + k / block][static_cast<std::size_t>(k % block / wordBits)] |=
                    std::uint64_t{1} << (k % wordBits);
    Ticker stop(control);
    for (Index r = 0; r != row.size(); ++r)
    {
        found.count[r] = searchRow(row[r], restriction[row[r]], search, found.column);
        if (stop(nBlocks_ + found.count[r]))
        {
            found.finished = false;
            break;
        }
    }
    return found;
}
}  // namespace hardwood
