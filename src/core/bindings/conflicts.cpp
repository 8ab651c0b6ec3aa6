// Boxes that meet, for Python.
#include "conflicts/conflicts.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <optional>

#include "bindings/bind.h"

namespace hardwood
{
namespace
{
using RankRows = In<Rank, 2>;
using Numbers = In<std::int32_t, 1>;

// Boxes as two arrays of ranks: lower <= upper, and -1 is the least rank there is.
RankBoxes boxesOf(RankRows const &lower, RankRows const &upper)
{
    RankBoxes const boxes{gridOf(lower), gridOf(upper)};
    require(boxes.lower.rows() == boxes.upper.rows() && boxes.lower.columns() == boxes.upper.columns(),
            "lower and upper must be of one shape");
    constexpr Rank most = std::numeric_limits<Rank>::max() - 1;
    auto const lowers = boxes.lower.all(), uppers = boxes.upper.all();
    for (Index a = 0; a != lowers.size(); ++a)
        if (lowers[a] < -1 || lowers[a] > uppers[a] || uppers[a] > most)
            require(false, "a box must have ranks -1 <= lower <= upper < 2^31 - 1");
    return boxes;
}

// An index that keeps the arrays it reads alive.
class PyBoxIndex
{
    RankRows rowLower_, rowUpper_, columnLower_, columnUpper_;
    BoxIndex index_;

    static BoxIndex make(RankBoxes const &rows, RankBoxes const &columns)
    {
        require(rows.features() == columns.features(), "rows and columns must have the same features");
        require(columns.size() < std::numeric_limits<std::int32_t>::max(), "more columns than can be numbered");
        nb::gil_scoped_release unlocked;
        return BoxIndex(rows, columns);
    }

public:
    PyBoxIndex(RankRows rowLower, RankRows rowUpper, RankRows columnLower, RankRows columnUpper)
        : rowLower_(rowLower),
          rowUpper_(rowUpper),
          columnLower_(columnLower),
          columnUpper_(columnUpper),
          index_(make(boxesOf(rowLower, rowUpper), boxesOf(columnLower, columnUpper)))
    {
    }

    nb::tuple find(Numbers row, Numbers restriction, In<bool, 2> allowed, std::optional<Index> limit, bool listed,
                   Control *given) const
    {
        auto const rows = spanOf(row), restrictions = spanOf(restriction);
        auto const sets = gridOf(allowed);
        auto const nRows = static_cast<Index>(rowLower_.shape(0));
        require(restrictions.size() == nRows, "restriction must have an entry per row");
        require(sets.columns() == static_cast<Index>(columnLower_.shape(0)), "allowed must have a column per column");
        require(!limit || *limit >= 0, "limit must not be negative");
        requireRange(rows, 0, nRows - 1, "row");
        requireRange(restrictions, 0, sets.rows() - 1, "restriction");
        BoxIndex::Found found;
        Array<std::int32_t> column;
        {
            nb::gil_scoped_release unlocked;
            Interruptible own;
            found = index_.find(rows, restrictions, sets, limit.value_or(BoxIndex::noLimit), listed,
                                given != nullptr ? *given : own);
            column = Array<std::int32_t>::copy(found.column);
        }
        raisePending();
        return nb::make_tuple(handOver(std::move(found.count)), handOver(std::move(column)), found.finished);
    }
};

auto pyPairsMeet(RankRows rowLower, RankRows rowUpper, Numbers row, RankRows columnLower, RankRows columnUpper,
                 Numbers column)
{
    auto const rows = boxesOf(rowLower, rowUpper), columns = boxesOf(columnLower, columnUpper);
    auto const i = spanOf(row), k = spanOf(column);
    require(rows.features() == columns.features(), "rows and columns must have the same features");
    require(i.size() == k.size(), "row and column must be of one length");
    requireRange(i, 0, rows.size() - 1, "row");
    requireRange(k, 0, columns.size() - 1, "column");
    auto out = Array<bool>::unwritten(i.size());
    {
        nb::gil_scoped_release unlocked;
        for (Index e = 0; e != i.size(); ++e)
            out[e] = meet(rows, i[e], columns, k[e]);
    }
    return handOver(std::move(out));
}

auto pyOrderNeighbours(RankRows lower, RankRows upper, In<Index, 1> number, Index leaf, Control *given)
{
    auto const boxes = boxesOf(lower, upper);
    require(leaf >= 1, "leaf must be at least 1");
    requireRange(spanOf(number), 0, boxes.size() - 1, "number");
    auto order = Array<Index>::copy(spanOf(number));
    {
        nb::gil_scoped_release unlocked;
        Interruptible own;
        orderNeighbours(boxes, order.view(), leaf, given != nullptr ? *given : own);
    }
    raisePending();
    return handOver(std::move(order));
}

auto pySweepForConflict(RankRows lower, RankRows upper, In<Index, 1> label, Index feature)
{
    auto const boxes = boxesOf(lower, upper);
    require(static_cast<Index>(label.shape(0)) == boxes.size(), "label must have an entry per box");
    require(feature >= 0 && feature < boxes.features(), "feature is not there");
    for (Index i = 1; i < boxes.size(); ++i)
        require(boxes.lower(i - 1, feature) <= boxes.lower(i, feature), "boxes must be sorted by lower[:, feature]");
    Pair found{-1, -1};
    {
        nb::gil_scoped_release unlocked;
        Interruptible control;
        found = sweepForConflict(boxes, spanOf(label), feature, control);
    }
    raisePending();
    return std::pair(found.first, found.second);
}
}  // namespace

void bindConflicts(nb::module_ &m)
{
    auto boxIndex = nb::class_<PyBoxIndex>(m, "BoxIndex", "Answers which columns (boxes) the box of a row meets.");
    boxIndex
        .def(nb::init<RankRows, RankRows, RankRows, RankRows>(), array("row_lower"), array("row_upper"),
             array("column_lower"), array("column_upper"))
        .def("find", &PyBoxIndex::find, array("row"), array("restriction"), array("allowed"),
             nb::arg("limit").none() = nb::none(), nb::arg("listed") = true, nb::arg("control").none() = nb::none(),
             "Return how many columns each of these rows meets, the columns, and whether the search came to its end. "
             "``allowed[restriction[i]]`` are the columns that row i may meet, at most `limit` per row and per column. "
             "With ``listed=False`` they are only counted. Stopped, the rows not yet searched have count 0.");
    boxIndex.attr("BLOCK") = BoxIndex::block;
    m.def("pairs_meet", pyPairsMeet, array("row_lower"), array("row_upper"), array("row"), array("column_lower"),
          array("column_upper"), array("column"),
          "Return for each listed pair of a row and a column whether they meet.");
    m.def("order_neighbours", pyOrderNeighbours, array("lower"), array("upper"), array("number"), nb::arg("leaf"),
          nb::arg("control").none() = nb::none(),
          "Return the numbers of some boxes in an order in which neighbours stand together: the leaves of a k-d tree, "
          "of at most `leaf` boxes. Stopped, they are less neighbourly.");
    m.def("sweep_for_conflict", pySweepForConflict, array("lower"), array("upper"), array("label"), nb::arg("feature"),
          "Return two boxes of different labels that meet, or (-1, -1); boxes come sorted by ``lower[:, feature]``.");
}
}  // namespace hardwood
