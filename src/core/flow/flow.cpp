#include "flow/flow.h"

#include <numeric>

namespace hardwood
{
template <class Amount>
MaximumFlow<Amount>::MaximumFlow(Network<Amount> net)
    : net_(net),
      start_(net.supply.size() + 1),
      arc_(Array<std::int32_t>::unwritten(2 * net.tail.size())),
      next_(Array<Index>::unwritten(net.supply.size())),
      level_(Array<std::int32_t>::unwritten(net.supply.size())),
      path_(Array<std::int32_t>::unwritten(net.supply.size()))
{
    auto const nArcs = static_cast<std::int32_t>(net.tail.size());
    for (std::int32_t e = 0; e != nArcs; ++e)
    {
        ++start_[net.tail[e] + 1];
        ++start_[net.head[e] + 1];
    }
    std::partial_sum(start_.begin(), start_.end(), start_.begin());
    std::copy(start_.begin(), start_.end() - 1, next_.begin());
    for (std::int32_t e = 0; e != nArcs; ++e)
        arc_[next_[net.tail[e]]++] = e;
    for (std::int32_t e = 0; e != nArcs; ++e)
        arc_[next_[net.head[e]]++] = ~e;
}

template <class Amount>
void MaximumFlow<Amount>::pushGreedily()
{
    Array<Index> order = Array<Index>::unwritten(net_.supply.size());
    std::iota(order.begin(), order.end(), Index{0});
    auto *const unused = std::stable_partition(order.begin(), order.end(), [&](Index v) { return net_.supply[v] > 0; });
    auto const degree = [&](Index v) { return start_[v + 1] - start_[v]; };
    std::stable_sort(order.begin(), unused, [&](Index u, Index v) { return degree(u) < degree(v); });
    for (Index const u : Span<Index>(order.data(), unused - order.begin()))
        for (Index a = start_[u]; a != start_[u + 1] && net_.supply[u] > 0; ++a)
        {
            if (arc_[a] < 0)
                continue;
            auto const v = net_.head[arc_[a]];
            Amount const amount = std::min(net_.supply[u], net_.demand[v]);
            net_.flow[arc_[a]] += amount;
            net_.supply[u] -= amount;
            net_.demand[v] -= amount;
        }
}

// Write the distance of each vertex from those with supply left; whether a vertex with demand left was reached.
template <class Amount>
bool MaximumFlow<Amount>::layer(Ticker &stop)
{
    Index done = 0, size = 0;
    for (Index v = 0; v != level_.size(); ++v)
    {
        level_[v] = net_.supply[v] > 0 ? 0 : -1;
        if (level_[v] == 0)
            path_[size++] = static_cast<std::int32_t>(v);
    }
    std::int32_t last = -1;
    while (done != size)
    {
        auto const v = path_[done++];
        if ((last >= 0 && level_[v] >= last) || stop(start_[v + 1] - start_[v]))
            break;
        for (Index a = start_[v]; a != start_[v + 1]; ++a)
        {
            auto const w = target(arc_[a]);
            if (level_[w] >= 0 || !isOpen(arc_[a]))
                continue;
            level_[w] = level_[v] + 1;
            if (net_.demand[w] > 0)
                last = level_[w];
            path_[size++] = w;
        }
    }
    return last >= 0;
}

// Look for a path of layers from `root` to a demand, in path_; return its length, or 0 if there is none left. Where the
// search turned back a vertex gets no level, so that nobody goes there again.
template <class Amount>
Index MaximumFlow<Amount>::findPath(std::int32_t root, Ticker &stop, bool &stopped)
{
    constexpr std::int32_t exhausted = -2;
    Index length = 0;
    auto v = root;
    while (true)
    {
        if (length > 0 && net_.demand[v] > 0)
            return length;
        if (stop())
        {
            stopped = true;
            return 0;
        }
        Index &a = next_[v];
        while (a != start_[v + 1] && (level_[target(arc_[a])] != level_[v] + 1 || !isOpen(arc_[a])))
            ++a;
        if (a != start_[v + 1])
        {
            path_[length++] = arc_[a];
            v = target(arc_[a]);
            continue;
        }
        level_[v] = exhausted;
        if (length == 0)
            return 0;
        v = origin(path_[--length]);
        ++next_[v];
    }
}

// Send as much as fits along the path that was found.
template <class Amount>
void MaximumFlow<Amount>::augment(std::int32_t root, Index length)
{
    auto const end = target(path_[length - 1]);
    Amount amount = std::min(net_.supply[root], net_.demand[end]);
    for (Index k = 0; k != length; ++k)
        if (path_[k] < 0)
            amount = std::min(amount, net_.flow[~path_[k]]);
    net_.supply[root] -= amount;
    net_.demand[end] -= amount;
    for (Index k = 0; k != length; ++k)
    {
        if (path_[k] >= 0)
            net_.flow[path_[k]] += amount;
        else
            net_.flow[~path_[k]] -= amount;
    }
}

template <class Amount>
void MaximumFlow<Amount>::augmentAlongLayers(Ticker &stop, bool &stopped)
{
    std::copy(start_.begin(), start_.end() - 1, next_.begin());
    for (Index v = 0; v != level_.size() && !stopped; ++v)
    {
        auto const root = static_cast<std::int32_t>(v);
        while (net_.supply[root] > 0 && level_[root] == 0)
        {
            Index const length = findPath(root, stop, stopped);
            if (length == 0)
                break;
            augment(root, length);
        }
    }
}

template <class Amount>
bool MaximumFlow<Amount>::grow(Control &control)
{
    Ticker stop(control, 1 << 16);
    bool stopped = false;
    while (layer(stop))
    {
        augmentAlongLayers(stop, stopped);
        if (stopped || control.stopRequested())
            return false;
    }
    return !control.stopRequested();
}

template class MaximumFlow<std::int64_t>;
template class MaximumFlow<double>;

Index handDown(Packing const &packing, Span<Index> left, Grid<Index> pair, Span<Index> amount)
{
    auto cursor = Array<Index>::copy(packing.start);
    Index size = 0;
    // The sample of a vertex that has weight left.
    auto const next = [&](Index v)
    {
        while (cursor[v] != packing.start[v + 1] && left[packing.member[cursor[v]]] == 0)
            ++cursor[v];
        if (cursor[v] == packing.start[v + 1])
            throw std::invalid_argument("a packing asks more of a vertex than its samples have");
        return packing.member[cursor[v]];
    };
    for (Index e = 0; e != packing.amount.size(); ++e)
        for (Index todo = packing.amount[e]; todo > 0;)
        {
            Index const i = next(packing.pair(e, 0)), k = next(packing.pair(e, 1));
            Index const used = std::min({todo, left[i], left[k]});
            pair(size, 0) = i;
            pair(size, 1) = k;
            amount[size++] = used;
            left[i] -= used;
            left[k] -= used;
            todo -= used;
        }
    return size;
}
}  // namespace hardwood
