//! Line plots as inline SVG: no script, no font, nothing fetched.

use std::fmt::Write as _;

use super::table::escaped;

/// One line of a plot.
#[derive(Clone, Debug)]
pub struct Series {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// A plot with logarithmic axes: growth shows as a slope.
#[derive(Clone, Debug)]
pub struct Plot {
    pub title: String,
    pub across: String,
    pub up: String,
    pub series: Vec<Series>,
}

const WIDTH: f64 = 620.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 170.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 45.0;
const COLOURS: &[&str] = &[
    "#1f5fa8", "#c0392b", "#2e8b57", "#8e44ad", "#d98200", "#16848a", "#7a5230", "#555555",
    "#b03a8f", "#6b8e23",
];

/// A logarithmic axis from a power of ten to another.
#[derive(Clone, Copy, Debug)]
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>) -> Option<Self> {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| *value > 0.0) {
            low = low.min(value.log10());
            high = high.max(value.log10());
        }
        low.is_finite().then(|| Self {
            low: (low - 0.05).floor(),
            high: (high + 0.05).ceil(),
        })
    }

    fn share(&self, value: f64) -> f64 {
        (value.log10() - self.low) / (self.high - self.low)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        (self.low as i32..=self.high as i32).map(|power| 10f64.powi(power))
    }
}

impl Plot {
    /// Nothing where there is nothing to draw.
    pub fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| series.points.iter());
        let (Some(x), Some(y)) = (
            Axis::over(points().map(|point| point.0)),
            Axis::over(points().map(|point| point.1)),
        ) else {
            return String::new();
        };
        let across = |value: f64| LEFT + x.share(value) * (WIDTH - LEFT - RIGHT);
        let up = |value: f64| HEIGHT - BOTTOM - y.share(value) * (HEIGHT - TOP - BOTTOM);
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\">\n\
             <text x=\"{LEFT}\" y=\"18\" class=\"t\">{}</text>\n",
            escaped(&self.title)
        );
        for tick in x.ticks() {
            let at = across(tick);
            let _ = writeln!(
                svg,
                "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{}\" class=\"g\"/><text x=\"{at:.1}\" y=\"{}\" class=\"m\">{}</text>",
                HEIGHT - BOTTOM,
                HEIGHT - BOTTOM + 15.0,
                label(tick)
            );
        }
        for tick in y.ticks() {
            let at = up(tick);
            let _ = writeln!(
                svg,
                "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\" class=\"g\"/><text x=\"{}\" y=\"{:.1}\" class=\"e\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                at + 4.0,
                label(tick)
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.0}\" y=\"{}\" class=\"m\">{}</text>\n<text transform=\"translate(16 {:.0}) rotate(-90)\" class=\"m\">{}</text>",
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 8.0,
            escaped(&self.across),
            HEIGHT / 2.0,
            escaped(&self.up)
        );
        for (index, series) in self.series.iter().enumerate() {
            svg.push_str(&line(series, index, across, up));
        }
        svg.push_str("</svg>\n");
        svg
    }
}

fn line(
    series: &Series,
    index: usize,
    across: impl Fn(f64) -> f64,
    up: impl Fn(f64) -> f64,
) -> String {
    let colour = COLOURS[index % COLOURS.len()];
    let points: Vec<(f64, f64)> = series
        .points
        .iter()
        .filter(|(x, y)| *x > 0.0 && *y > 0.0)
        .map(|(x, y)| (across(*x), up(*y)))
        .collect();
    let path: Vec<String> = points
        .iter()
        .map(|(x, y)| format!("{x:.1},{y:.1}"))
        .collect();
    let mut svg = format!(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"/>\n",
        path.join(" ")
    );
    for (x, y) in &points {
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\" fill=\"{colour}\"/>"
        );
    }
    let at = TOP + 14.0 * index as f64 + 8.0;
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{at}\" fill=\"{colour}\" class=\"k\">{}</text>",
        WIDTH - RIGHT + 10.0,
        escaped(&series.name)
    );
    svg
}

fn label(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{:.0}M", v / 1e6),
        v if v >= 1e3 => format!("{:.0}k", v / 1e3),
        v if v >= 1.0 => format!("{v:.0}"),
        v => format!("{v}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_has_its_points_and_nothing_is_nothing() {
        let series = |points: Vec<(f64, f64)>| Plot {
            title: "a < b".into(),
            across: "threads".into(),
            up: "s".into(),
            series: vec![Series {
                name: "one".into(),
                points,
            }],
        };
        let svg = series(vec![(2.0, 0.1), (4.0, 10.0)]).svg();
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains("a &lt; b"));
        assert_eq!(series(vec![]).svg(), "");
    }
}
