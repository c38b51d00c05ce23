/*
 * Two flows share a CPU and a link of 200 Mbps for a second. Packets of "crypto" need 96 us of the CPU, those of
 * "plain" 5 us; all need 32 us of the link. The argument says which scheduler decides: ./share drfq
 */
#include <dovetail.h>
#include <stdio.h>

enum { CPU, LINK, CRYPTO = 0, PLAIN = 1, FLOWS = 2, WAITING = 32, ON_LINK = 32 };

/* What a packet needs, in nanoseconds, and what its flow has had. A real payload is a frame of its own. */
struct kind {
    const char *name;
    uint64_t needs[2];
    uint64_t packets;
};

static struct kind kinds[FLOWS] = {{"crypto", {96000, 32000}, 0}, {"plain", {5000, 32000}, 0}};

/* Packets on the link, or in front of it, the oldest first. */
static struct {
    struct dovetail_served packets[ON_LINK];
    uint64_t ends[ON_LINK];
    unsigned first, count;
    uint64_t free_at;
} link;

static void onto_link(const struct dovetail_served *packet, uint64_t now)
{
    unsigned last = (link.first + link.count++) % ON_LINK;
    uint64_t start = link.free_at > now ? link.free_at : now;
    link.free_at = start + ((struct kind *)packet->payload)->needs[LINK];
    link.packets[last] = *packet;
    link.ends[last] = link.free_at;
}

/* The oldest packet has left: report what it took of the link. */
static void off_link(dovetail_scheduler *scheduler)
{
    unsigned first = link.first;
    struct kind *kind = link.packets[first].payload;
    dovetail_finished(scheduler, link.ends[first], &link.packets[first], 1, LINK, &kind->needs[LINK]);
    kind->packets++;
    link.first = (first + 1) % ON_LINK;
    link.count--;
}

/* Both flows always have packets waiting. The estimates are what an operator might guess. */
static void fill_up(dovetail_scheduler *scheduler, const struct dovetail_flow flows[FLOWS], uint64_t now)
{
    for (int f = 0; f < FLOWS; f++) {
        struct dovetail_packet packet = {.payload = &kinds[f], .flow = flows[f], .size = 800, .cost = {20000, 32000}};
        while (dovetail_queued(scheduler, flows[f]) < WAITING)
            dovetail_enqueue(scheduler, now, &packet, 1, NULL);
    }
}

int main(int count, char **arguments)
{
    char error[DOVETAIL_ERROR_SIZE];
    dovetail_scheduler *scheduler = dovetail_new(count > 1 ? arguments[1] : "drfq", 2, 0, error);
    if (!scheduler) {
        fprintf(stderr, "%s\n", error);
        return 2;
    }
    struct dovetail_flow flows[FLOWS];
    for (int f = 0; f < FLOWS; f++)
        dovetail_add_flow(scheduler, NULL, &flows[f], NULL);

    const uint64_t end = 1000000000;
    uint64_t now = 0;
    while (now < end) {
        while (link.count && link.ends[link.first] <= now)
            off_link(scheduler);
        fill_up(scheduler, flows, now);
        struct dovetail_served packet;
        struct dovetail_answer answer = {.why = DOVETAIL_WHY_AWAIT_PROGRESS};
        if (link.count == ON_LINK || !dovetail_dequeue(scheduler, now, &packet, 1, &answer)) {
            if (answer.why == DOVETAIL_WHY_DROP)
                continue; /* Some schedulers drop what has waited too long: free answer.payload here. */
            /* The CPU waits until a packet leaves the link, or until the scheduler says. */
            uint64_t leaves = link.count ? link.ends[link.first] : UINT64_MAX;
            now = answer.why == DOVETAIL_WHY_AT && answer.at < leaves ? answer.at : leaves;
            continue;
        }
        const uint64_t *took = &((struct kind *)packet.payload)->needs[CPU];
        now += *took; /* The work on the packet would be done here. */
        dovetail_finished(scheduler, now, &packet, 1, CPU, took);
        onto_link(&packet, now);
    }
    for (int f = 0; f < FLOWS; f++) {
        struct kind *kind = &kinds[f];
        printf("%-6s %5u packets  %2.0f %% of the CPU  %2.0f %% of the link\n", kind->name, (unsigned)kind->packets,
               100.0 * kind->packets * kind->needs[CPU] / now, 100.0 * kind->packets * kind->needs[LINK] / now);
    }
    dovetail_free(scheduler, NULL, NULL);
    return 0;
}
