//! Requests of two tenants share a server's prefill and decode stages.

use dovetail_sched::{FlowConfig, Next, Packet, Progress, Shape, SpecError, build};
use dovetail_units::{Duration, ResourceVec, Time};

fn main() -> Result<(), SpecError> {
    let mut scheduler = build::<2, &str>(&"drfq".parse()?, Shape::default())?;
    let chat = scheduler.add_flow(FlowConfig::default());
    let batch = scheduler.add_flow(FlowConfig::default());

    // Estimated milliseconds of prefill and decode. The batch tenant came first, with long prompts.
    let ms = |prefill: u64, decode: u64| ResourceVec::from_nanos([prefill * 1_000_000, decode * 1_000_000]);
    let requests = [
        (batch, ms(300, 20), "batch 1"),
        (batch, ms(300, 20), "batch 2"),
        (batch, ms(300, 20), "batch 3"),
        (chat, ms(20, 60), "chat 1"),
        (chat, ms(20, 60), "chat 2"),
    ];
    let mut now = Time::ZERO;
    for (flow, cost, payload) in requests {
        if let Err(refused) = scheduler.enqueue(now, Packet { flow, size: 1, cost, payload }) {
            println!("{} is refused: {}", refused.payload, refused.reason.name());
        }
    }
    // One request at a time, to keep the example short: serve it, then report what it really took.
    while let Next::Serve(mut served) = scheduler.next(now) {
        println!("{now}: {}", served.payload);
        let took = served.ticket.charged();
        for stage in 0..2 {
            now += took[stage];
            scheduler.progress(now, &mut served.ticket, stage, Progress::Finished { used: took[stage] });
        }
    }
    assert_eq!(scheduler.stats().queued, 0);
    assert!(now > Time::ZERO + Duration::from_millis(900));
    Ok(())
}
