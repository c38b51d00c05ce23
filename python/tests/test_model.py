"""The model's functions, by the numbers of the papers."""

import math
import unittest

import dovetail
from dovetail import model


class Papers(unittest.TestCase):
    def test_figure_1_of_the_tradeoff_paper(self):
        heads = [[2.0, 3.0], [9.0, 1.0]]
        self.assertEqual([round(share, 12) for share in model.drgps(heads)["shares"]], [0.6, 0.6])
        efficient = model.tradeoff(heads, 0.0)
        self.assertAlmostEqual(efficient["shares"][0], 24 / 25)
        self.assertAlmostEqual(efficient["shares"][1], 9 / 25)
        self.assertAlmostEqual(min(efficient["utilization"]), 1)
        self.assertEqual(model.tradeoff(heads, 1.0), model.drgps(heads))

    def test_fluid(self):
        flows = [[(0.0, [2.0, 3.0])] * 3, [(0.0, [9.0, 1.0])] * 2]
        fair, fast = model.fluid_schedule(flows), model.fluid_schedule(flows, alpha=0.0)
        bound = model.makespan_lower_bound_s([24.0, 11.0])
        self.assertLessEqual(bound, fast["makespan_s"] + 1e-9)
        self.assertLessEqual(fast["makespan_s"], fair["makespan_s"] + 1e-9)
        self.assertEqual([len(times) for times in fair["finishes_s"]], [3, 2])
        self.assertEqual(model.work_conserving_makespan_s(2, 24.0), 48.0)

    def test_indices(self):
        self.assertEqual((model.jain([2, 2, 2]), model.gini([2, 2, 2])), (1.0, 0.0))
        self.assertEqual((model.jain([0, 0, 0, 1]), model.gini([1, 0, 0, 0])), (0.25, 0.75))

    def test_proportional_fairness(self):
        found = model.proportional([("cpu", 3e9), ("link", 1e8)], [(1.0, [(0, 10.0), (1, None)]), (1.0, [(1, None)])])
        self.assertAlmostEqual(sum(found["rates_bps"]) / 1e8, 1)
        self.assertAlmostEqual(found["prices"][0] * 3e9, 0, places=6)

    def test_bounds(self):
        self.assertEqual(model.drfq_relative_fairness_s([1, 2], [0.5, 0.5]), 0.75)
        self.assertEqual(model.mr3_relative_fairness_s(2, 0.5), 3.0)
        self.assertEqual(model.tracking_makespan_s(10.0, 4, 0.5), 12.0)


class Mistakes(unittest.TestCase):
    def test_what_is_no_number_is_refused(self):
        for wrong in (math.nan, math.inf, -1.0):
            for call in (
                lambda: model.drgps([[wrong, 1.0]]),
                lambda: model.tradeoff([[1.0, 1.0]], wrong),
                lambda: model.fluid_schedule([[(wrong, [1.0])]]),
                lambda: model.jain([wrong]),
                lambda: model.gini([1, wrong]),
                lambda: model.makespan_lower_bound_s([wrong]),
                lambda: model.proportional([("cpu", wrong)], []),
                lambda: model.drfq_relative_fairness_s([wrong, 1], [1, 1]),
                lambda: model.mr3_relative_fairness_s(2, wrong),
            ):
                with self.assertRaises(dovetail.Error):
                    call()
        for call in (
            lambda: model.drgps([]),
            lambda: model.drgps([[1, 2], [1]]),
            lambda: model.drgps([[1, 2]], weights=[1, 2]),
            lambda: model.tradeoff([[1, 2]], 0.5, ties="none"),
            lambda: model.fluid_schedule([]),
            lambda: model.fluid_schedule([[(2.0, [1.0]), (1.0, [1.0])]]),
            lambda: model.proportional([("disk", 1.0)], []),
            lambda: model.proportional([("cpu", 1.0)], [(1.0, [(3, 1.0)])]),
            lambda: model.jain([]),
        ):
            with self.assertRaises(dovetail.Error):
                call()
        with self.assertRaises(TypeError):
            model.drgps("times")
