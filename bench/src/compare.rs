//! All backends in one run, written down for the docs.

use std::{fs, path::Path, time::SystemTime};

use plotters::prelude::*;
use serde::Serialize;

use crate::{
    backend::Amount,
    mysql::{self, Mysql},
    process,
    redis::{self, Redis},
    report::{Figure, number, summary},
    sample::Failure,
    series::{self, Plot},
    servers::Maker,
};

/// Where the results go, from the crate's directory.
const RESULTS: &str = "../docs/src/benchmarks";
const SIZE: (u32, u32) = (720, 400);

/// Everything that one run found.
#[derive(Debug, Serialize)]
struct Results {
    date: String,
    machine: String,
    command: String,
    load_at_start: f64,
    load_at_end: f64,
    figures: Vec<Figure>,
    plots: Vec<Plot>,
}

pub(crate) async fn run(
    redis_amount: Amount,
    mysql_amount: Amount,
    maker: Maker,
    with_peers: bool,
) -> Result<(), Failure> {
    let load_at_start = process::load();
    let mut figures = redis::run(redis_amount, with_peers, &[]).await?;
    figures.extend(mysql::run(mysql_amount, maker, with_peers, &[]).await?);

    let redis = Redis::start(false).await?;
    let mut plots = series::plots("redis", &redis, redis_amount).await?;
    redis.stop().await?;
    let mysql = Mysql::start(maker, false).await?;
    plots.extend(series::plots("mysql", &mysql, mysql_amount).await?);
    mysql.stop().await?;

    summary(&figures);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    write(&Results {
        date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        machine: process::machine(),
        command: format!(
            "cargo run --release -p goqueue-bench -- {}",
            arguments.join(" ")
        ),
        load_at_start,
        load_at_end: process::load(),
        figures,
        plots,
    })
}

fn write(results: &Results) -> Result<(), Failure> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join(RESULTS);
    fs::create_dir_all(&home)?;
    let mut json = serde_json::to_string_pretty(results)?;
    json.push('\n');
    fs::write(home.join("results.json"), json)?;
    fs::write(home.join("table.md"), table(results))?;
    for plot in &results.plots {
        draw(plot, &home.join(format!("{}.svg", plot.file)))?;
    }
    println!("\nwritten to {}", home.display());
    Ok(())
}

fn table(results: &Results) -> String {
    let Results {
        date,
        machine,
        command,
        load_at_start,
        load_at_end,
        ..
    } = results;
    let mut text = format!(
        "# The figures of one run\n\nMade by `{command}` on {date}: {machine}; load average {load_at_start:.1} at the start, \
         {load_at_end:.1} at the end.\n\n\
         | | figure | of the limit | beside peers | client CPU s per 100,000 | bars |\n\
         | --- | --- | --- | --- | --- | --- |\n"
    );
    for figure in &results.figures {
        let peers: Vec<String> = figure
            .times_peer
            .iter()
            .map(|(peer, times)| format!("{times:.1} × {peer}"))
            .collect();
        let bars: Vec<String> = figure
            .verdicts
            .iter()
            .map(|v| format!("{} {}", v.bar, if v.is_met { "met" } else { "**not met**" }))
            .collect();
        let decimals = |value: Option<f64>| value.map_or(String::new(), |v| format!("{v:.2}"));
        text += &format!(
            "| {} | {} {} | {} | {} | {} | {} |\n",
            figure.name,
            number(figure.value),
            figure.unit,
            decimals(figure.of_limit),
            peers.join(", "),
            decimals(figure.cpu_per_100k),
            bars.join(", ")
        );
    }
    for plot in &results.plots {
        text += &format!("\n![{}]({}.svg)\n", plot.title, plot.file);
    }
    text
}

fn draw(plot: &Plot, file: &Path) -> Result<(), Failure> {
    let area = SVGBackend::new(file, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let points = || plot.series.iter().flat_map(|series| &series.points);
    let first = points().map(|(x, _)| *x as f64).fold(f64::MAX, f64::min);
    let last = points().map(|(x, _)| *x as f64).fold(2.0, f64::max);
    let most = points().map(|(_, y)| *y).fold(1.0, f64::max) * 1.1;
    let mut chart = ChartBuilder::on(&area)
        .caption(&plot.title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(80)
        .build_cartesian_2d((first..last).log_scale(), 0.0..most)?;
    chart
        .configure_mesh()
        .x_desc(plot.x)
        .y_desc("jobs a second")
        .x_label_formatter(&|x| number(*x).replace(".000", ""))
        .y_label_formatter(&|y| number(*y).replace(".000", ""))
        .draw()?;
    for (place, series) in plot.series.iter().enumerate() {
        let colour = Palette99::pick(place).to_rgba();
        let points = series.points.iter().map(|(x, y)| (*x as f64, *y));
        chart
            .draw_series(LineSeries::new(points.clone(), &colour))?
            .label(&series.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour));
        chart.draw_series(points.map(|point| Circle::new(point, 3, colour.filled())))?;
    }
    chart.configure_series_labels().border_style(BLACK).draw()?;
    area.present()?;
    Ok(())
}
