//! Metrics for Prometheus, over HTTP on a loopback port.
//!
//! Labels are classes, resources, modules and reasons of drops, of which there are few, whatever traffic comes; flows
//! are no labels. A scrape asks the worker for a snapshot, as any client of the control socket does, so nothing is
//! counted twice. `prometheus-client` writes the format; it takes constant values from a collector, where libraries
//! with global recorders want every change of a value.

use std::io;
use std::net::{SocketAddr, TcpListener};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use crate::control::Counter;
use crate::control::protocol::{Answer, Request};
use crate::core::{Latency, ModuleSnapshot, PortSnapshot, QueueSnapshot, Snapshot};
use crate::http::{PLAIN, Response, Server};
use crate::port::LinkState;

/// Serves metrics until it is dropped.
pub struct Metrics(Server);

impl Metrics {
    /// Serve `/metrics` to whoever comes to `listener`, on threads that may do what the calling thread may.
    ///
    /// # Errors
    /// There can be no thread.
    pub fn serve(listener: TcpListener, counter: Counter) -> io::Result<Self> {
        Server::serve(listener, "metrics", move |method, target| answer(method, target, &counter)).map(Self)
    }

    /// Where it listens.
    pub fn address(&self) -> Option<SocketAddr> {
        self.0.address()
    }
}

const CONTENT: &str = "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What whoever asks is told; what stands behind a question mark is for nobody.
fn answer(method: &str, target: &str, counter: &Counter) -> Response {
    let said = |status, text: &str| Response { status, headers: &[PLAIN], body: text.into() };
    if target.split('?').next() != Some("/metrics") {
        return said("404 Not Found", "see /metrics\n");
    }
    if !matches!(method, "GET" | "HEAD") {
        let other = said("405 Method Not Allowed", "only GET and HEAD are answered\n");
        return Response { headers: &[PLAIN, "Allow: GET, HEAD"], ..other };
    }
    match counter.ask(Request::Snapshot { flows: 0 }) {
        Answer::Snapshot(snapshot) => Response { status: "200 OK", headers: &[CONTENT], body: text(*snapshot) },
        _ => said("503 Service Unavailable", "the box does not answer\n"),
    }
}

/// A snapshot in the OpenMetrics text format.
pub fn text(snapshot: Snapshot) -> String {
    let mut registry = Registry::with_prefix("dovetail");
    registry.register_collector(Box::new(Collected(snapshot)));
    let mut text = String::new();
    // Writing into memory does not fail.
    let _ = encode(&mut text, &registry);
    text
}

#[derive(Debug)]
struct Collected(Snapshot);

type Wrote = Result<(), std::fmt::Error>;

/// One metric of every class.
fn each_class<M: EncodeMetric>(
    classes: &[(&str, &QueueSnapshot)],
    mut metric: prometheus_client::encoding::MetricEncoder<'_>,
    value: impl Fn(&QueueSnapshot) -> M,
) -> Wrote {
    for (class, frames) in classes {
        value(frames).encode(metric.encode_family(&[("class", *class)])?)?;
    }
    Ok(())
}

impl Collector for Collected {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Wrote {
        let classes: Vec<_> = self.0.classes.iter().map(|class| (class.class.as_str(), &class.frames)).collect();
        counters(&classes, &mut encoder)?;
        latencies(&classes, &mut encoder)?;
        resources(&self.0, &mut encoder)?;
        modules(&self.0.modules, &mut encoder)?;
        ports(&self.0, &mut encoder)?;
        let weight = ConstGauge::new(0.0);
        let mut weights =
            encoder.encode_descriptor("flow_weight", "Weight of each flow of the class", None, weight.metric_type())?;
        for class in &self.0.classes {
            ConstGauge::new(class.weight).encode(weights.encode_family(&[("class", class.class.as_str())])?)?;
        }
        let mut flows = encoder.encode_descriptor("flows", "Flows that are kept", None, weight.metric_type())?;
        for class in &self.0.classes {
            ConstGauge::new(class.flows as i64).encode(flows.encode_family(&[("class", class.class.as_str())])?)?;
        }
        Ok(())
    }
}

type Count = (&'static str, &'static str, Option<Unit>, fn(&QueueSnapshot) -> u64);

const COUNTS: [Count; 7] = [
    ("received_frames", "Frames that came in", None, |frames| frames.frames_in),
    ("received", "Bytes that came in", Some(Unit::Bytes), |frames| frames.bytes_in),
    ("processed_frames", "Frames that the CPU is done with or that passed it by", None, |frames| {
        frames.frames_processed
    }),
    ("made_frames", "Frames that left and were made of others that were too long", None, |frames| frames.frames_made),
    ("sent_frames", "Frames that left over the link", None, |frames| frames.frames_out),
    ("sent", "Bytes that left over the link", Some(Unit::Bytes), |frames| frames.bytes_out),
    ("marked_frames", "Frames that left with a congestion mark of the box", None, |frames| frames.marked),
];

fn counters(classes: &[(&str, &QueueSnapshot)], encoder: &mut DescriptorEncoder<'_>) -> Wrote {
    let kind = ConstCounter::new(0u64).metric_type();
    for (name, help, unit, count) in COUNTS {
        let metric = encoder.encode_descriptor(name, help, unit.as_ref(), kind)?;
        each_class(classes, metric, |frames| ConstCounter::new(count(frames)))?;
    }
    let cpu = encoder.encode_descriptor("cpu", "Time on the CPU", Some(&Unit::Seconds), kind)?;
    each_class(classes, cpu, |frames| ConstCounter::new(frames.cpu_s))?;
    let link = encoder.encode_descriptor("link", "Time on the link", Some(&Unit::Seconds), kind)?;
    each_class(classes, link, |frames| ConstCounter::new(frames.link_s))?;
    if classes.iter().any(|(_, frames)| frames.third_s.is_some()) {
        let third = encoder.encode_descriptor("third", "Time on the third resource", Some(&Unit::Seconds), kind)?;
        each_class(classes, third, |frames| ConstCounter::new(frames.third_s.unwrap_or(0.0)))?;
    }
    let mut drops = encoder.encode_descriptor("dropped_frames", "Frames that were dropped", None, kind)?;
    for (class, frames) in classes {
        for (reason, &count) in &frames.dropped {
            let labels = [("class", *class), ("reason", reason.as_str())];
            ConstCounter::new(count).encode(drops.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

fn latencies(classes: &[(&str, &QueueSnapshot)], encoder: &mut DescriptorEncoder<'_>) -> Wrote {
    let kind = ConstGauge::new(0.0).metric_type();
    type Window = (&'static str, &'static str, fn(&QueueSnapshot) -> &Latency);
    const WINDOWS: [Window; 3] = [
        ("latency", "From receipt to the end on the link, since the box started", |frames| &frames.latency_s),
        ("latency_minute", "The same of frames that left in the last minute", |frames| &frames.latency_minute_s),
        ("latency_second", "The same of frames that left in the last second", |frames| &frames.latency_second_s),
    ];
    for (name, help, window) in WINDOWS {
        let mut metric = encoder.encode_descriptor(name, help, Some(&Unit::Seconds), kind)?;
        for (class, frames) in classes {
            let times = window(frames);
            for (quantile, time) in [("0.5", times.p50), ("0.9", times.p90), ("0.99", times.p99)] {
                let Some(time) = time else { continue };
                ConstGauge::new(time).encode(metric.encode_family(&[("class", *class), ("quantile", quantile)])?)?;
            }
        }
    }
    let held = encoder.encode_descriptor("held_frames", "Frames that are in the box", None, kind)?;
    each_class(classes, held, |frames| ConstGauge::new(frames.held as i64))
}

type PortCount = (&'static str, &'static str, fn(&PortSnapshot) -> u64);

const PORT_COUNTS: [PortCount; 4] = [
    ("port_received_frames", "Frames that the port brought", |port| port.received),
    ("port_sent_frames", "Frames that the port sent", |port| port.sent),
    ("port_missed_frames", "Frames that were lost before the box looked", |port| port.missed),
    (
        "port_oversize_frames",
        "Frames that were lost since they were longer than a buffer, or several segments in one",
        |port| port.oversize,
    ),
];

/// What ports lost, whether their links carry anything, and what the box has no account of.
fn ports(snapshot: &Snapshot, encoder: &mut DescriptorEncoder<'_>) -> Wrote {
    let (counter, gauge) = (ConstCounter::new(0u64).metric_type(), ConstGauge::new(0.0).metric_type());
    for (name, help, count) in PORT_COUNTS {
        let mut metric = encoder.encode_descriptor(name, help, None, counter)?;
        for (port, counted) in &snapshot.ports {
            ConstCounter::new(count(counted)).encode(metric.encode_family(&[("port", port.as_str())])?)?;
        }
    }
    let help = "Frames that were never sent, by reason";
    let mut unsent = encoder.encode_descriptor("port_unsent_frames", help, None, counter)?;
    for (port, counted) in &snapshot.ports {
        let PortSnapshot { unsent: all, too_long, down, full, short, .. } = *counted;
        let other = all.saturating_sub(too_long + down + full + short);
        let reasons = [("too-long", too_long), ("down", down), ("full", full), ("short", short), ("other", other)];
        for (reason, count) in reasons {
            let labels = [("port", port.as_str()), ("reason", reason)];
            ConstCounter::new(count).encode(unsent.encode_family(&labels)?)?;
        }
    }
    let mut up = encoder.encode_descriptor("port_up", "Whether the link of the port carries frames", None, gauge)?;
    for (port, counted) in &snapshot.ports {
        let Some(link) = counted.link else { continue };
        let carries = i64::from(link == LinkState::Up);
        ConstGauge::new(carries).encode(up.encode_family(&[("port", port.as_str())])?)?;
    }
    let help = "Frames that have left over the link and wait for the port";
    let outgoing = encoder.encode_descriptor("outgoing_frames", help, None, gauge)?;
    ConstGauge::new(snapshot.outgoing as i64).encode(outgoing)?;
    let help = "Frames that came in and are neither sent, nor dropped, nor held: 0";
    let unaccounted = encoder.encode_descriptor("unaccounted_frames", help, None, gauge)?;
    ConstGauge::new(snapshot.unaccounted).encode(unaccounted)
}

fn modules(modules: &[ModuleSnapshot], encoder: &mut DescriptorEncoder<'_>) -> Wrote {
    let kind = ConstGauge::new(0.0).metric_type();
    let mut metric = encoder.encode_descriptor("module", "What a module has counted, or has left", None, kind)?;
    for ModuleSnapshot { module, kind, counters, .. } in modules {
        for (name, &count) in counters {
            let labels = [("module", module.as_str()), ("kind", kind.as_str()), ("count", name.as_str())];
            // A gauge in this format is signed, or a floating point number.
            ConstGauge::new(count as f64).encode(metric.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

fn resources(snapshot: &Snapshot, encoder: &mut DescriptorEncoder<'_>) -> Wrote {
    let (counter, gauge) = (ConstCounter::new(0u64).metric_type(), ConstGauge::new(0.0).metric_type());
    let mut busy =
        encoder.encode_descriptor("busy", "Time that the resource was occupied", Some(&Unit::Seconds), counter)?;
    for (name, resource) in &snapshot.resources {
        ConstCounter::new(resource.busy_s).encode(busy.encode_family(&[("resource", name.as_str())])?)?;
    }
    let mut waiting = encoder.encode_descriptor("waiting_frames", "Frames in front of the resource", None, gauge)?;
    for (name, resource) in &snapshot.resources {
        ConstGauge::new(resource.waiting as i64).encode(waiting.encode_family(&[("resource", name.as_str())])?)?;
    }
    let outliers =
        encoder.encode_descriptor("outliers", "Measurements of processing that were not believed", None, counter)?;
    ConstCounter::new(snapshot.outliers).encode(outliers)?;
    let lost = encoder.encode_descriptor(
        "lost",
        "Time that a late worker could not make up for",
        Some(&Unit::Seconds),
        counter,
    )?;
    ConstCounter::new(snapshot.lost_time_s).encode(lost)?;
    let help = "How much later than due frames left the link, all together";
    let late = encoder.encode_descriptor("late", help, Some(&Unit::Seconds), counter)?;
    ConstCounter::new(snapshot.late_s.sum).encode(late)?;
    let help = "How much later than due the latest frame left the link, since the box started";
    let longest = encoder.encode_descriptor("late_max", help, Some(&Unit::Seconds), gauge)?;
    ConstGauge::new(snapshot.late_s.max).encode(longest)
}
