// The search against attackers who pay, for Python.
#include "bindings/bind.h"
#include "priced/search.h"

#include <chrono>
#include <memory>
#include <utility>

namespace hardwood
{
namespace
{
// A search that owns what it looks at, and that can be paused.
class PricedSearch
{
    Array<Index> begin_, group_, category_, groupBegin_, label_;
    Array<Units> left_, right_, categoryCost_;
    Array<bool> yesIsLeft_;
    PricedProblem problem_;
    Control *control_ = nullptr;
    std::unique_ptr<PricedFrame> root_;

public:
    PricedSearch(In<Index, 1> begin, In<Units, 1> left, In<Units, 1> right, In<Index, 1> group, In<Index, 1> category,
                 In<bool, 1> yesIsLeft, In<Index, 1> groupBegin, In<Units, 1> categoryCost, In<Index, 1> label,
                 In<Cost, 1> weight, Units affordable, Index classes, Cost leafPenalty, Cost step, int depth,
                 Control &control)
        : begin_(Array<Index>::copy(spanOf(begin))),
          group_(Array<Index>::copy(spanOf(group))),
          category_(Array<Index>::copy(spanOf(category))),
          groupBegin_(Array<Index>::copy(spanOf(groupBegin))),
          label_(Array<Index>::copy(spanOf(label))),
          left_(Array<Units>::copy(spanOf(left))),
          right_(Array<Units>::copy(spanOf(right))),
          categoryCost_(Array<Units>::copy(spanOf(categoryCost))),
          yesIsLeft_(Array<bool>::copy(spanOf(yesIsLeft))),
          control_(&control)
    {
        check(spanOf(weight), affordable, classes, leafPenalty, step, depth);
        auto const viewOf = [](auto const &array) { return array.view(); };
        problem_.prices = {label_.size(),       affordable,           viewOf(begin_),    viewOf(left_),
                           viewOf(right_),      viewOf(group_),       viewOf(category_), viewOf(yesIsLeft_),
                           viewOf(groupBegin_), viewOf(categoryCost_)};
        problem_.label = viewOf(label_);
        problem_.classes = classes;
        problem_.leafPenalty = leafPenalty;
        std::vector<Cost> weights(spanOf(weight).begin(), spanOf(weight).end());
        problem_.heavy = 2 * leafPenalty * (Index{2} << depth) + 1;
        for (Cost const w : weights)
            problem_.heavy += 2 * w;
        root_ = std::make_unique<PricedFrame>(problem_, everybody(problem_.prices), std::move(weights), depth,
                                              problem_.heavy, step, control);
    }

    // Work for so many seconds, or until the control stops it; whether everything is settled.
    bool advance(double seconds)
    {
        bool isDone = false;
        {
            nb::gil_scoped_release unlocked;
            auto const started = std::chrono::steady_clock::now();
            try
            {
                while (!isDone && std::chrono::steady_clock::now() - started < std::chrono::duration<double>(seconds))
                    isDone = !root_->advance();
            }
            catch (PricedFrame::Stopped const &)
            {
            }
        }
        raisePending();
        return isDone;
    }

    void lower(Cost cost) { root_->lower(cost); }
    [[nodiscard]] Cost bound() const { return root_->bound(); }
    [[nodiscard]] Cost cost() const { return root_->cost(); }

    [[nodiscard]] auto rows() const
    {
        auto const &plan = root_->plan();
        Array<Index> rows(static_cast<Index>(plan.size()) * 5);
        Index k = 0;
        for (auto const &node : plan)
            for (Index const entry : {node.feature, node.threshold, node.left, node.right, node.label})
                rows[k++] = entry;
        return handOver(std::move(rows), static_cast<Index>(plan.size()), 5);
    }

private:
    void check(Span<Cost const> weight, Units affordable, Index classes, Cost leafPenalty, Cost step, int depth) const
    {
        auto const samples = label_.size(), features = group_.size(), groups = groupBegin_.size() - 1;
        require(begin_.size() == features + 1 && begin_[0] == 0 && std::is_sorted(begin_.begin(), begin_.end()),
                "begin must divide the thresholds among the features");
        require(left_.size() == samples * begin_[features] && right_.size() == left_.size(),
                "left and right must have a price for each sample and threshold");
        require(category_.size() == features && yesIsLeft_.size() == features,
                "one group, category and side a feature");
        require(groups >= 0 && groupBegin_[0] == 0 && std::is_sorted(groupBegin_.begin(), groupBegin_.end()) &&
                    categoryCost_.size() == samples * groupBegin_[groups],
                "category_cost must have a price for each sample and category");
        requireRange(group_.view(), -1, groups - 1, "group");
        for (Index j = 0; j != features; ++j)
            if (group_[j] >= 0)
                require(begin_[j + 1] - begin_[j] <= 1 && category_[j] >= 0 &&
                            category_[j] < groupBegin_[group_[j] + 1] - groupBegin_[group_[j]],
                        "a column of a group has one threshold and one of its categories");
        require(classes >= 1 && depth >= 1 && depth <= 30 && step >= 1 && leafPenalty >= 0 && affordable >= 0,
                "classes, depth and step must be positive");
        requireRange(label_.view(), 0, classes - 1, "label");
        require(weight.size() == samples, "one weight for each sample");
        requireRange(weight, 0, Index{1} << 40, "weight");
        for (auto const *array : {&left_, &right_, &categoryCost_})
            requireRange(array->view(), 0, Index{1} << 50, "a price");
    }
};
}  // namespace

void bindPriced(nb::module_ &m)
{
    nb::class_<PricedSearch>(m, "PricedSearch",
                             "Search for the best tree against attackers who pay; see src/core/priced/search.h.")
        .def(nb::init<In<Index, 1>, In<Units, 1>, In<Units, 1>, In<Index, 1>, In<Index, 1>, In<bool, 1>, In<Index, 1>,
                      In<Units, 1>, In<Index, 1>, In<Cost, 1>, Units, Index, Cost, Cost, int, Control &>(),
             array("begin"), array("left"), array("right"), array("group"), array("category"), array("yes_is_left"),
             array("group_begin"), array("category_cost"), array("label"), array("weight"), nb::arg("affordable"),
             nb::arg("n_classes"), nb::arg("leaf_penalty"), nb::arg("step"), nb::arg("depth"), nb::arg("control"),
             nb::keep_alive<1, 17>())
        .def("advance", &PricedSearch::advance, nb::arg("seconds"),
             "Work for so many seconds, or until the control stops it; return whether everything is settled.")
        .def("lower", &PricedSearch::lower, nb::arg("cost"), "Tell it that a tree of this cost is known.")
        .def_prop_ro("bound", &PricedSearch::bound, "Every tree costs at least this, or at least the least known cost.")
        .def_prop_ro("cost", &PricedSearch::cost, "What the best tree found here costs.")
        .def("rows", &PricedSearch::rows, "Return its nodes: feature, threshold index, left, right, label.");
}
}  // namespace hardwood
