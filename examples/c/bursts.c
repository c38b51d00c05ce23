/*
 * A worker that takes packets of a thousand flows in bursts of 32, and who frees them. Every tenth packet needs 20 us
 * of the CPU, the others 1 us; the link has 10 Gbps. More comes than goes. The argument says which scheduler decides:
 * ./bursts drfq
 */
#include <dovetail.h>
#include <stdio.h>
#include <stdlib.h>

enum { CPU, LINK, FLOWS = 1000, BURST = 32, COME = 40, TURNS = 10000, LINK_BITS_PER_NS = 10 };

/* What becomes of the packets, each of which is freed once. */
static unsigned long came, refused, dropped, unsent, sent, left;

/* A real program has a clock, work and a network card in place of these. */
static uint64_t now;

static uint64_t work(const unsigned *frame)
{
    uint64_t took = *frame % 10 ? 1000 : 20000;
    now += took;
    return took;
}

static size_t transmit(const struct dovetail_served *packets, size_t count)
{
    (void)packets;
    return count > 30 ? 30 : count; /* The card has no room for more. */
}

static void drop(void *count, void *frame)
{
    ++*(unsigned long *)count;
    free(frame);
}

/* What came goes in. At most a burst goes through the CPU and out. */
static void turn(dovetail_scheduler *scheduler, const struct dovetail_packet packets[COME])
{
    struct dovetail_refused back[COME];
    struct dovetail_served served[BURST];
    struct dovetail_answer answer;
    uint64_t took[BURST];
    size_t k, count, ready = 0, out;

    count = dovetail_enqueue(scheduler, now, packets, COME, back);
    for (k = 0; k < count; k++)
        drop(&refused, back[k].payload);

    do {
        ready += dovetail_dequeue(scheduler, now, served + ready, BURST - ready, &answer);
        if (answer.why == DOVETAIL_WHY_DROP)
            drop(&dropped, answer.payload);
    } while (answer.why == DOVETAIL_WHY_DROP);
    for (k = 0; k < ready; k++)
        took[k] = work(served[k].payload);
    dovetail_finished(scheduler, now, served, ready, CPU, took);

    out = transmit(served, ready);
    for (k = 0; k < out; k++)
        took[k] = served[k].size * 8 / LINK_BITS_PER_NS;
    dovetail_finished(scheduler, now, served, out, LINK, took);
    dovetail_abandoned(scheduler, now, served + out, ready - out, LINK);
    for (k = 0; k < ready; k++)
        drop(k < out ? &sent : &unsent, served[k].payload);
}

int main(int count, char **arguments)
{
    char error[DOVETAIL_ERROR_SIZE];
    dovetail_scheduler *scheduler = dovetail_new(count > 1 ? arguments[1] : "drfq", 2, 0, error);
    if (!scheduler) {
        fprintf(stderr, "%s\n", error);
        return 2;
    }
    static struct dovetail_flow flows[FLOWS];
    const struct dovetail_flow_config config = {.limit_packets = 64};
    for (int f = 0; f < FLOWS; f++)
        dovetail_add_flow(scheduler, &config, &flows[f], NULL);

    for (int t = 0; t < TURNS; t++) {
        struct dovetail_packet packets[COME];
        for (int k = 0; k < COME; k++) {
            unsigned *frame = malloc(sizeof *frame);
            *frame = (unsigned)came++ * 7919 % FLOWS;
            packets[k] = (struct dovetail_packet){
                .payload = frame, .flow = flows[*frame], .size = 800, .cost = {2900, 640}};
        }
        turn(scheduler, packets);
        now += 1000; /* Asking takes time, too. */
    }
    dovetail_free(scheduler, drop, &left);
    printf("%lu came: %lu sent, %lu unsent, %lu refused, %lu dropped, %lu left at the end\n", came, sent, unsent,
           refused, dropped, left);
    return came != sent + unsent + refused + dropped + left;
}
