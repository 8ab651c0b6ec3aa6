// The search over leaf labels, for Python.
#include "relabel/relabel.h"

#include "bindings/bind.h"

namespace hardwood
{
namespace
{
auto pyTryLabelings(In<Index, 1> begin, In<Index, 1> leaf, In<Index, 1> label, In<double, 1> weight, Index nClasses,
                    double most, Index maxNodes, In<Index, 1> start, Control *given)
{
    LeafGroups const groups{spanOf(begin), spanOf(leaf), spanOf(label), spanOf(weight), nClasses};
    auto best = Array<Index>::copy(spanOf(start));
    require(groups.begin.size() == groups.size() + 1 && groups.begin[0] == 0 &&
                groups.begin[groups.size()] == groups.leaf.size() &&
                std::is_sorted(groups.begin.begin(), groups.begin.end()),
            "begin must divide leaf into the leaves of each group");
    require(groups.weight.size() == groups.size(), "label and weight must be of one length");
    requireRange(groups.leaf, 0, best.size() - 1, "leaf");
    requireRange(groups.label, 0, nClasses - 1, "label");
    requireRange<Index>(best.view(), 0, nClasses - 1, "start");
    for (Index g = 0; g != groups.size(); ++g)
        require(std::is_sorted(groups.leavesOf(g).begin(), groups.leavesOf(g).end()),
                "the leaves of a group must be sorted");
    bool finished = false;
    {
        nb::gil_scoped_release unlocked;
        Interruptible own;
        finished = tryLabelings(groups, most, maxNodes, best.view(), given != nullptr ? *given : own);
    }
    raisePending();
    return nb::make_tuple(handOver(std::move(best)), finished);
}
}  // namespace

void bindRelabel(nb::module_ &m)
{
    m.def("try_labelings", pyTryLabelings, array("begin"), array("leaf"), array("label"), array("weight"),
          nb::arg("n_classes"), nb::arg("most"), nb::arg("max_nodes"), array("start"),
          nb::arg("control").none() = nb::none(),
          "Search leaf labels that lose less than `most`, the cost of `start`; return the best known and whether the "
          "search came to its end rather than to `max_nodes` partial labellings or a stop.");
}
}  // namespace hardwood
