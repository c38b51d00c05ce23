"""What the pictures show is what was recorded."""

import importlib.util
import unittest

import dovetail

from support import SMALL


@unittest.skipUnless(importlib.util.find_spec("matplotlib"), "matplotlib is not installed")
class Pictures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import matplotlib

        matplotlib.use("agg")
        cls.result = dovetail.run(SMALL, schedulers=["drfq", "tradeoff:alpha=0.5"])

    def tearDown(self):
        from matplotlib import pyplot

        pyplot.close("all")

    def test_utilization(self):
        from dovetail import plot

        axes = plot.utilization(self.result, "drfq")
        self.assertEqual([line.get_label() for line in axes.lines], ["cpu", "link"])
        drawn = max(level for line in axes.lines for level in line.get_ydata())
        used = self.result.utilization["utilization"]
        self.assertAlmostEqual(drawn, 100 * max(used[: len(used) // 2]))

    def test_dominant_shares(self):
        from dovetail import plot

        axes = plot.dominant_shares(self.result)
        self.assertEqual([text.get_text() for text in axes.get_legend().get_texts()][-1], "fair share")

    def test_latency(self):
        from dovetail import plot

        for group in (None, "heavy"):
            axes = plot.latency(self.result, group)
            for line, run in zip(axes.lines, self.result.runs):
                of = run if group is None else next(one for one in run.groups if one.group == group)
                self.assertEqual(len(line.get_xdata()), of.delivered if group else run.packets.delivered)
                self.assertAlmostEqual(max(line.get_xdata()), 1e3 * of.latency_s.max)
        with self.assertRaises(dovetail.ArgumentError):
            plot.latency(self.result, "hevy")

    def test_frontier(self):
        from dovetail import plot

        results = {a: dovetail.run(SMALL, schedulers=f"tradeoff:alpha={a}", packets=0) for a in (0.5, 1)}
        axes = plot.frontier(results, "light")
        self.assertEqual([text.get_text() for text in axes.texts], ["0.5", "1"])
        run = results[1].runs[0]
        self.assertAlmostEqual(axes.lines[0].get_ydata()[1] * 1e6, sum(group.throughput_bps for group in run.groups))
        with self.assertRaisesRegex(dovetail.ArgumentError, "there is no group 'lite'; there are 'light', 'heavy'"):
            plot.frontier(results, "lite")

    def test_service_curves(self):
        from dovetail import plot

        axes = plot.service_curves(self.result, "link", "drfq")
        ends = sum(line.get_ydata()[-1] for line in axes.lines)
        packets = self.result.packets
        service = sum(
            end - start
            for name, start, end in zip(packets["scheduler"], packets["link_start_ns"], packets["link_end_ns"])
            if name == "drfq" and end is not None
        )
        self.assertAlmostEqual(ends, service / 1e9)
        with self.assertRaises(dovetail.ArgumentError):
            plot.service_curves(self.result, "lnk")

    def test_gantt(self):
        from dovetail import plot

        axes = plot.gantt(self.result, most=20)
        ends = [end for end in self.result.packets["cpu_end_ns"][:20] if end is not None]
        first = (bar.get_x() + bar.get_width() for bar in axes.patches if bar.get_y() < 0.5)
        self.assertAlmostEqual(max(first), max(ends) / 1e6)
