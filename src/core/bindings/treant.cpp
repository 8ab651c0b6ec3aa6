// TREANT's closed forms, for Python.
#include "treant/treant.h"

#include "bindings/bind.h"

namespace hardwood
{
namespace
{
using Ranks = In<std::int32_t, 1>;

nb::tuple pyBestPredictions(double left0, double left1, double right0, double right1, double both0, double both1,
                            double leftLow, double leftHigh, double rightLow, double rightHigh, double start,
                            bool logistic)
{
    auto const best = bestPredictions(
        {{left0, left1}, {right0, right1}, {both0, both1}, {leftLow, leftHigh}, {rightLow, rightHigh}, start},
        logistic);
    return nb::make_tuple(best.loss, best.left, best.right);
}

nb::tuple pyBestThreshold(Ranks low, Ranks high, In<Index, 1> label, In<double, 1> weight, Ranks ruleLow,
                          Ranks ruleHigh, In<Index, 1> ruleIsUpper, In<double, 1> ruleBound, Index lowest,
                          Index highest, double start, bool logistic, Control *given)
{
    TreantFeature const feature{
        spanOf(low),      spanOf(high),        spanOf(label),     spanOf(weight),    spanOf(ruleLow),
        spanOf(ruleHigh), spanOf(ruleIsUpper), spanOf(ruleBound), {lowest, highest}, start};
    Index const m = feature.low.size(), r = feature.ruleLow.size();
    require(feature.high.size() == m && feature.label.size() == m && feature.weight.size() == m,
            "low, high, label and weight must be of one length");
    require(feature.ruleHigh.size() == r && feature.ruleIsUpper.size() == r && feature.ruleBound.size() == r,
            "rule_low, rule_high, rule_is_upper and rule_bound must be of one length");
    require(m + r < std::numeric_limits<std::int32_t>::max(), "more samples than can be numbered");
    requireRange(feature.label, 0, 1, "label");
    TreantThreshold best;
    {
        nb::gil_scoped_release unlocked;
        Interruptible own;
        best = bestThreshold(feature, logistic, given != nullptr ? *given : own);
    }
    raisePending();
    return nb::make_tuple(best.predictions.loss, best.index, best.following, best.predictions.left,
                          best.predictions.right);
}
}  // namespace

void bindTreant(nb::module_ &m)
{
    m.def(
        "treant_loss",
        [](double prediction, double zeros, double ones, bool logistic) {
            return lossOf(prediction, {zeros, ones}, logistic);
        },
        nb::arg("prediction"), nb::arg("zeros"), nb::arg("ones"), nb::arg("logistic"),
        "Return the loss of a prediction for weights of class 0 and class 1.");
    m.def("treant_best_predictions", pyBestPredictions, nb::arg("left0"), nb::arg("left1"), nb::arg("right0"),
          nb::arg("right1"), nb::arg("both0"), nb::arg("both1"), nb::arg("left_low"), nb::arg("left_high"),
          nb::arg("right_low"), nb::arg("right_high"), nb::arg("start"), nb::arg("logistic"),
          "Return the least loss under attack and the predictions of the left and the right leaf that reach it, for "
          "weights of class 0 and 1 certainly left, certainly right and undecided, and bounds on both predictions.");
    m.def("treant_best_threshold", pyBestThreshold, array("low"), array("high"), array("label"), array("weight"),
          array("rule_low"), array("rule_high"), array("rule_is_upper"), array("rule_bound"), nb::arg("lowest"),
          nb::arg("highest"), nb::arg("start"), nb::arg("logistic"), nb::arg("control").none() = nb::none(),
          "Return the least loss of a split of one feature, its threshold index strictly between `lowest` and "
          "`highest`, the next lower end and both predictions; infinite loss where there is no split, or where the "
          "control stopped it.");
}
}  // namespace hardwood
