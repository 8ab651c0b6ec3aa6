// Maximum flow, for Python.
#include "flow/flow.h"

#include <cmath>

#include "bindings/bind.h"

namespace hardwood
{
namespace
{
constexpr Index mostArcs = std::numeric_limits<std::int32_t>::max() - 1;

// Amounts are not negative (nor NaN), and int64 sums of them stay below 2^62.
template <class Amount>
void requireAmounts(Span<Amount const> amounts, char const *what)
{
    constexpr std::int64_t most = std::int64_t{1} << 62;
    std::int64_t total = 0;
    for (Amount const amount : amounts)
    {
        require(amount >= 0, std::string(what) + " must not be negative");
        if constexpr (std::is_same_v<Amount, std::int64_t>)
        {
            require(amount < most - total, std::string(what) + " sums to 2^62 or more");
            total += amount;
        }
    }
}

auto pyGrowFlow(In<std::int32_t, 1> row, In<std::int32_t, 1> column, Out<Index, 1> flow, Out<Index, 1> rowLeft,
                Out<Index, 1> columnLeft, Control *given)
{
    auto const rows = spanOf(row), columns = spanOf(column);
    auto const flows = spanOf(flow), rowAmounts = spanOf(rowLeft), columnAmounts = spanOf(columnLeft);
    Index const nRows = rowAmounts.size(), nColumns = columnAmounts.size();
    require(rows.size() == columns.size() && rows.size() == flows.size(), "row, column and flow must be of one length");
    require(rows.size() <= mostArcs && nRows + nColumns <= mostArcs, "more edges or vertices than can be numbered");
    requireRange(rows, 0, nRows - 1, "row");
    requireRange(columns, 0, nColumns - 1, "column");
    requireAmounts<Index>(flows, "flow");
    requireAmounts<Index>(rowAmounts, "row_left");
    requireAmounts<Index>(columnAmounts, "column_left");
    Array<bool> rowReached(nRows), columnReached(nColumns);
    bool finished = false;
    {
        nb::gil_scoped_release unlocked;
        // Rows are vertices 0, ..., nRows - 1, columns come behind them.
        auto head = Array<std::int32_t>::unwritten(columns.size());
        std::transform(columns.begin(), columns.end(), head.begin(),
                       [&](std::int32_t k) { return static_cast<std::int32_t>(k + nRows); });
        Array<Index> supply(nRows + nColumns), demand(nRows + nColumns);
        std::copy(rowAmounts.begin(), rowAmounts.end(), supply.begin());
        std::copy(columnAmounts.begin(), columnAmounts.end(), demand.begin() + nRows);
        MaximumFlow<Index> search({rows, head, flows, supply, demand});
        search.pushGreedily();
        Interruptible own;
        finished = search.grow(given != nullptr ? *given : own);
        std::copy(supply.begin(), supply.begin() + nRows, rowAmounts.begin());
        std::copy(demand.begin() + nRows, demand.end(), columnAmounts.begin());
        for (Index i = 0; i != nRows; ++i)
            rowReached[i] = search.isReached(i);
        for (Index k = 0; k != nColumns; ++k)
            columnReached[k] = search.isReached(nRows + k);
    }
    raisePending();
    return nb::make_tuple(handOver(std::move(rowReached)), handOver(std::move(columnReached)), finished);
}

auto pyMinimumCut(In<std::int32_t, 1> tail, In<std::int32_t, 1> head, In<double, 1> supply, In<double, 1> demand,
                  Control *given)
{
    auto const tails = spanOf(tail), heads = spanOf(head);
    Index const n = static_cast<Index>(supply.shape(0));
    require(tails.size() == heads.size(), "tail and head must be of one length");
    require(static_cast<Index>(demand.shape(0)) == n, "supply and demand must be of one length");
    require(tails.size() <= mostArcs && n <= mostArcs, "more arcs or vertices than can be numbered");
    requireRange(tails, 0, n - 1, "tail");
    requireRange(heads, 0, n - 1, "head");
    requireAmounts(spanOf(supply), "supply");
    requireAmounts(spanOf(demand), "demand");
    auto supplyLeft = Array<double>::copy(spanOf(supply)), demandLeft = Array<double>::copy(spanOf(demand));
    for (Index v = 0; v != n; ++v)
        require(supplyLeft[v] == 0.0 || demandLeft[v] == 0.0, "a vertex has supply or demand, not both");
    Array<bool> sourceSide(n);
    {
        nb::gil_scoped_release unlocked;
        Array<double> flow(tails.size());
        MaximumFlow<double> search({tails, heads, flow, supplyLeft, demandLeft});
        Interruptible own;
        search.grow(given != nullptr ? *given : own);
        for (Index v = 0; v != n; ++v)
            sourceSide[v] = search.isReached(v);
    }
    raisePending();
    return handOver(std::move(sourceSide));
}

auto pyHandDown(In<Index, 2> pair, In<Index, 1> amount, In<Index, 1> start, In<Index, 1> member, In<Index, 1> weight)
{
    Packing const packing{gridOf(pair), spanOf(amount), spanOf(start), spanOf(member)};
    require(packing.pair.columns() == 2 && packing.pair.rows() == packing.amount.size(),
            "pair must be of shape (n, 2) and amount of length n");
    require(packing.start.size() >= 1 && packing.start[0] == 0 &&
                packing.start[packing.start.size() - 1] == packing.member.size() &&
                std::is_sorted(packing.start.begin(), packing.start.end()),
            "start must divide member into the samples of each vertex");
    requireRange(packing.pair.all(), 0, packing.start.size() - 2, "pair");
    auto left = Array<Index>::copy(spanOf(weight));
    requireRange(packing.member, 0, left.size() - 1, "member");
    requireAmounts<Index>(left.view(), "weight");
    Index const most = packing.amount.size() + packing.member.size();
    auto outPair = Array<Index>::unwritten(2 * most);
    auto outAmount = Array<Index>::unwritten(most);
    Index size = 0;
    {
        nb::gil_scoped_release unlocked;
        size = handDown(packing, left.view(), Grid<Index>(outPair.data(), most, 2), outAmount.view());
    }
    return nb::make_tuple(handOver(Array<Index>::copy(outPair.view().part(0, 2 * size)), size, 2),
                          handOver(Array<Index>::copy(outAmount.view().part(0, size))));
}
}  // namespace

void bindFlow(nb::module_ &m)
{
    m.def("grow_flow", pyGrowFlow, array("row"), array("column"), array("flow"), array("row_left"),
          array("column_left"), nb::arg("control").none() = nb::none(),
          "Grow a flow through a bipartite graph to a maximum one, in place; return which rows and columns are on the "
          "source side of the minimum cut, and whether it came to its end. Stopped before, `flow` is still feasible: "
          "its sum is a lower bound on every cover; only the cut means nothing.");
    m.def("minimum_cut", pyMinimumCut, array("tail"), array("head"), array("supply"), array("demand"),
          nb::arg("control").none() = nb::none(),
          "Return the smallest source side of a minimum cut between the vertices with supply and those with demand, "
          "along arcs that cannot be cut. Stopped before its end, it returns some set that holds all supplies left.");
    m.def("hand_down", pyHandDown, array("pair"), array("amount"), array("start"), array("member"), array("weight"),
          "Hand a packing of vertices down to their samples ``member[start[v]:start[v + 1]]``, whose weights are used "
          "up one after the other; return pairs of samples and amounts.");
}
}  // namespace hardwood
