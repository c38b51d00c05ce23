//! Service orders in plain text, `golden/*.txt`, that a person can check with a pencil. The first lines of a file say
//! how to read it.

use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Progress, Scheduler, Served, Shape, build};
use dovetail_units::{ResourceVec, Time, Weight};

/// Packets of a flow that has no number: more than any example serves.
const MANY: usize = 64;
/// Tags count 2^-12 ns.
const TAG_BITS: u32 = 12;

/// One scheduler over some flows.
struct Example {
    scheduler: Box<dyn Scheduler<2, u32>>,
    flows: Vec<(char, FlowId)>,
    in_service: Option<Served<2, u32>>,
    served: usize,
}

impl Example {
    fn new(spec: &str, flows: &[&str]) -> Self {
        let scheduler = build(&spec.parse().unwrap(), Shape::default()).unwrap();
        let mut example = Self { scheduler, flows: Vec::new(), in_service: None, served: 0 };
        flows.iter().for_each(|flow| example.come(flow));
        example
    }

    /// `NAME [weight W]: <a,b> ... [xN]`
    fn come(&mut self, text: &str) {
        let (head, packets) = text.split_once(':').unwrap();
        let name = head.chars().next().unwrap();
        let weight = head.split_once("weight").map_or(1, |(_, w)| w.trim().parse().unwrap());
        let mut words: Vec<&str> = packets.split_whitespace().collect();
        let count = words.last().and_then(|last| last.strip_prefix('x')).map(|count| count.parse().unwrap());
        words.truncate(words.len() - usize::from(count.is_some()));
        let count = count.unwrap_or(MANY);
        let costs: Vec<[u64; 2]> = words.iter().map(|word| times(word)).collect();
        let known = self.flows.iter().find(|(flow, _)| *flow == name).map(|f| f.1);
        let flow = known.unwrap_or_else(|| {
            let weight = Weight::from_milli(1000 * weight).unwrap();
            self.scheduler.add_flow(FlowConfig { weight, ..FlowConfig::default() })
        });
        self.flows.push((name, flow));
        for k in 0..count {
            let cost = ResourceVec::from_nanos(costs[k % costs.len()]);
            self.scheduler.enqueue(Time::ZERO, Packet { flow, size: 100, cost, payload: name.into() }).unwrap();
        }
    }

    fn finish(&mut self) {
        let Some(mut packet) = self.in_service.take() else { return };
        for resource in 0..2 {
            let used = packet.ticket.charged()[resource];
            self.scheduler.progress(Time::ZERO, &mut packet.ticket, resource, Progress::Finished { used });
        }
    }

    /// The packet in service ends; the next one starts, on both resources at once. Its flow and tags.
    fn serve(&mut self) -> (char, [u64; 2]) {
        self.finish();
        let Next::Serve(mut packet) = self.scheduler.next(Time::ZERO) else { panic!("no packet is served") };
        for resource in 0..2 {
            self.scheduler.progress(Time::ZERO, &mut packet.ticket, resource, Progress::Started);
        }
        self.served += 1;
        self.in_service = Some(packet);
        (char::from_u32(packet.payload).unwrap(), packet.ticket.tags())
    }
}

/// `<a,b>`
fn times(word: &str) -> [u64; 2] {
    let (a, b) = word.strip_prefix('<').and_then(|w| w.strip_suffix('>')).and_then(|w| w.split_once(',')).unwrap();
    [a.parse().unwrap(), b.parse().unwrap()]
}

/// Check a whole file; the number of packets in it.
fn check(text: &str) -> usize {
    let (mut flows, mut example, mut count) = (Vec::new(), None::<Example>, 0);
    for (number, line) in text.lines().enumerate().map(|(k, line)| (k + 1, line)) {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        match first {
            "" | "#" => {}
            "==" => flows.clear(),
            "flow" => flows.push(rest),
            "scheduler" => example = Some(Example::new(rest, &flows)),
            "+" => example.as_mut().unwrap().come(rest),
            "-" => {
                let example = example.as_mut().unwrap();
                example.finish();
                assert_eq!(example.scheduler.next(Time::ZERO), Next::Empty, "line {number}");
            }
            flow => {
                let (served, tags) = example.as_mut().unwrap().serve();
                assert_eq!(served.to_string(), flow, "line {number}: {line}");
                for (tag, expected) in tags.into_iter().zip(rest.split_whitespace()) {
                    assert_eq!(tag, expected.parse::<u64>().unwrap() << TAG_BITS, "line {number}: {line}");
                }
                count += 1;
            }
        }
    }
    count
}

#[test]
fn drfq_serves_as_the_pencil_says() {
    assert!(check(include_str!("golden/drfq.txt")) > 150);
}
