/*
 * Dovetail: schedulers that share several resources, such as a CPU and a link, between flows.
 *
 * How to use this, with examples: docs/how-to/c.md. Times are in nanoseconds. `now` is that of any clock that does not
 * run backwards; if it does, the latest time counts. Each call takes O(1) or O(log n) for a packet, n being the number
 * of flows that wait, as the scheduler says, and none blocks or reads a clock. Memory is allocated only when more
 * packets or flows wait than ever before. There is no global state. A pointer must be valid unless its description
 * allows NULL.
 */

#ifndef DOVETAIL_H
#define DOVETAIL_H

#include <stddef.h>
#include <stdint.h>

// The most resources that a pipeline may have.
#define DOVETAIL_RESOURCES 4

// The size of a text that says what was wrong, in bytes, with the byte 0 at its end. Longer texts are cut off.
#define DOVETAIL_ERROR_SIZE 512

// The size of a ticket, in words of 64 bits.
#define DOVETAIL_TICKET_SIZE 10

// Why a packet was not admitted.
typedef enum dovetail_reason {
  // The flow's queue holds as many packets as it may.
  DOVETAIL_REASON_QUEUE_PACKETS,
  // The flow's queue has no room for so many bytes.
  DOVETAIL_REASON_QUEUE_BYTES,
  // There is no such flow.
  DOVETAIL_REASON_UNKNOWN_FLOW,
  // Too much processing time waits.
  DOVETAIL_REASON_QUEUE_TIME,
} dovetail_reason;

// Why no further packet was handed out.
typedef enum dovetail_why {
  // As many as were asked for have been handed out.
  DOVETAIL_WHY_ENOUGH,
  // No packet waits.
  DOVETAIL_WHY_EMPTY,
  // Packets wait, but none may start before some packet in the pipeline makes progress. Ask again after a report.
  DOVETAIL_WHY_AWAIT_PROGRESS,
  // Packets wait, but none may start before the time `at`. Ask again then.
  DOVETAIL_WHY_AT,
  // A packet is dropped now, because it has waited for too long or too many wait. Free `payload`, and ask again.
  // Only `codel` and `fq_codel` drop.
  DOVETAIL_WHY_DROP,
} dovetail_why;

// A scheduler. It may move from thread to thread, but only one at a time may use it.
typedef struct dovetail_scheduler dovetail_scheduler;

// Takes a payload back.
typedef void (*dovetail_dropped)(void *context, void *payload);

// What is set up for a flow. All zeros are the defaults: weight 1, and no limits.
typedef struct dovetail_flow_config {
  // The flow's fair share is proportional to it: 0.001 to 1,000,000, to the nearest thousandth; 0 is 1.
  double weight;
  // By resource, if weights differ. Some schedulers use them, others only `weight`. All zeros: `weight` on every
  // resource.
  double weight_on[DOVETAIL_RESOURCES];
  // Which part of its fair share the flow is guaranteed by `tradeoff`: 0.001 to 1, to the nearest thousandth; 0 is
  // the alpha of the scheduler.
  double alpha;
  // The number of its class, from 1; 0 is none. "tradeoff:protect=1 5 ms" protects class 1, if `dovetail_left` tells
  // how its packets fare.
  uint16_t class_number;
  // Packets that may wait; 0 is no limit.
  uint32_t limit_packets;
  // Bytes that may wait; 0 is no limit.
  uint64_t limit_bytes;
  // Processing time that may wait on the resource `limit_time_on`, in nanoseconds: the packet that brings it above
  // this is the last one admitted until it is below `limit_time_lower`. 0 is no limit.
  uint64_t limit_time_upper;
  // In nanoseconds.
  uint64_t limit_time_lower;
  // On which resource, counted from 0.
  uint32_t limit_time_on;
} dovetail_flow_config;

// Names one flow of one scheduler. The name of a removed flow is never that of a later one.
typedef struct dovetail_flow {
  // From 0, in the order in which flows are added; that of a removed flow is used again. For tables of your own.
  uint32_t index;
  // How many flows had this index before.
  uint32_t generation;
} dovetail_flow;

// A packet on its way into the scheduler.
typedef struct dovetail_packet {
  // Yours: a frame, a request. The scheduler only keeps it. Any value but `(void *)-1`.
  void *payload;
  // The flow it belongs to.
  struct dovetail_flow flow;
  // Its length in bytes.
  uint32_t size;
  // Its estimated processing time on each resource, in nanoseconds, divided by the number of the resource's parallel
  // servers. More than 2^40 (18 minutes) counts as that. 0 on the first of several resources means that it certainly
  // needs nothing there, and may be taken by `dovetail_bypass`. If a time is only unknown, say 1.
  uint64_t cost[DOVETAIL_RESOURCES];
} dovetail_packet;

// A packet that was not admitted.
typedef struct dovetail_refused {
  // Yours again.
  void *payload;
  // Why.
  enum dovetail_reason reason;
} dovetail_refused;

// A packet to put into the first resource now. Keep it with the packet, and report with it what becomes of it.
typedef struct dovetail_served {
  // Yours again.
  void *payload;
  // Its flow.
  struct dovetail_flow flow;
  // Its length in bytes.
  uint32_t size;
  // The scheduler's: copy it, but do not change it.
  uint64_t ticket[DOVETAIL_TICKET_SIZE];
} dovetail_served;

// Why no further packet was handed out, and what belongs to that. What does not is 0.
typedef struct dovetail_answer {
  // Why.
  enum dovetail_why why;
  // With `DOVETAIL_WHY_DROP`: its length in bytes.
  uint32_t size;
  // With `DOVETAIL_WHY_AT`: when, in nanoseconds.
  uint64_t at;
  // With `DOVETAIL_WHY_DROP`: its flow.
  struct dovetail_flow flow;
  // With `DOVETAIL_WHY_DROP`: yours again.
  void *payload;
} dovetail_answer;

// Says whether a packet may pass the first resource: not 0 if it may.
typedef int (*dovetail_may_pass)(void *context, void *payload);

// Counts of packets. At every moment `offered = admitted + refused`, and `admitted = served + dropped + queued`.
typedef struct dovetail_counts {
  // Given to `dovetail_enqueue`.
  uint64_t offered;
  // Of these, put into a queue.
  uint64_t admitted;
  // Of these, given back at once.
  uint64_t refused;
  // Of those admitted, handed out.
  uint64_t served;
  // Of those admitted, given back later: their flow was removed, or `DOVETAIL_WHY_DROP`.
  uint64_t dropped;
  // Of those admitted, waiting now.
  uint64_t queued;
  // Bytes that wait now.
  uint64_t queued_bytes;
} dovetail_counts;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Make a scheduler, by a text such as "drfq" or "tradeoff:alpha=0.85". `dovetail schedulers` lists all.
//
// `resources`: how many resources packets need one after another, 1 to 4: for a CPU and a link, 2.
// `servers`: how many parallel servers all resources have together, such as cores; 0 is one for each resource.
// `error`: room for `DOVETAIL_ERROR_SIZE` bytes, or NULL. Says what is wrong when the result is NULL.
struct dovetail_scheduler *dovetail_new(const char *spec, uint32_t resources, uint32_t servers, char *error);

// End a scheduler, which may be NULL. `dropped`, if it is not NULL, is called with `context` and the payload of each
// packet that waits.
void dovetail_free(struct dovetail_scheduler *scheduler, dovetail_dropped dropped, void *context);

// Set a flow up, as `config` says; NULL is a weight of 1 without limits. Its name goes to `flow`.
//
// Returns 0; or -1 if the config is wrong, with what is wrong in `error` (`DOVETAIL_ERROR_SIZE` bytes, or NULL).
int dovetail_add_flow(struct dovetail_scheduler *scheduler,
                      const struct dovetail_flow_config *config,
                      struct dovetail_flow *flow,
                      char *error);

// Change a flow's weights, alpha, class and limits from now on to all that `config` says; NULL is as in
// `dovetail_add_flow`. Packets beyond a lowered limit stay.
//
// Returns 0; or -1 if the config is wrong or there is no such flow, as `error` says.
int dovetail_set_flow(struct dovetail_scheduler *scheduler,
                      uint64_t now,
                      struct dovetail_flow flow,
                      const struct dovetail_flow_config *config,
                      char *error);

// Tear a flow down. `dropped`, if it is not NULL, is called with `context` and the payload of each packet that waits,
// in order; it must not use the scheduler. Go on reporting what becomes of the flow's packets that were handed out.
//
// Returns 0, or -1 if there is no such flow.
int dovetail_remove_flow(struct dovetail_scheduler *scheduler,
                         uint64_t now,
                         struct dovetail_flow flow,
                         dovetail_dropped dropped,
                         void *context);

// Give `count` packets to the scheduler. Bursts of 8 to 32 packets are best, one by one gives the same result.
//
// Returns how many were not admitted. These are written to `refused` in order, which has room for `count`; NULL if you
// need not free them. The others are the scheduler's until it hands them out.
size_t dovetail_enqueue(struct dovetail_scheduler *scheduler,
                        uint64_t now,
                        const struct dovetail_packet *packets,
                        size_t count,
                        struct dovetail_refused *refused);

// What to put into the first resource now: at most `most` packets, which are written to `served` in order; it has room
// for `most`. Ask whenever the first resource could take a packet.
//
// Returns how many there are. If fewer than `most`, `answer` says why. It may be NULL, but then nobody frees what
// `codel` and `fq_codel` drop.
size_t dovetail_dequeue(struct dovetail_scheduler *scheduler,
                        uint64_t now,
                        struct dovetail_served *served,
                        size_t most,
                        struct dovetail_answer *answer);

// Processing of these packets, which were handed out, began on the resource (counted from 0 along the pipeline). The
// start on the first one need not be reported.
//
// Reports about a packet go to the scheduler that handed it out, along the pipeline, starts before ends. A report that
// repeats an earlier one changes nothing.
void dovetail_started(struct dovetail_scheduler *scheduler,
                      uint64_t now,
                      struct dovetail_served *served,
                      size_t count,
                      uint32_t resource);

// Processing of these packets ended on the resource. Each took the time of the same place in `used`, in nanoseconds,
// divided by the resource's number of servers. The flow is charged for that in place of the estimate.
void dovetail_finished(struct dovetail_scheduler *scheduler,
                       uint64_t now,
                       struct dovetail_served *served,
                       size_t count,
                       uint32_t resource,
                       const uint64_t *used);

// These packets left the pipeline unfinished, such as dropped in a buffer in front of the resource. Report this of
// every packet that does not finish on the last resource: some schedulers wait for those that they count there.
void dovetail_abandoned(struct dovetail_scheduler *scheduler,
                        uint64_t now,
                        struct dovetail_served *served,
                        size_t count,
                        uint32_t resource);

// A packet of this flow has left the last resource, so many nanoseconds after it came. Only `tradeoff` with `protect`
// looks at it.
void dovetail_left(struct dovetail_scheduler *scheduler, uint64_t now, struct dovetail_flow flow, uint64_t stayed);

// A packet that needs nothing on the first of several resources, and so may pass it while that is busy. `may_pass`
// says whether a packet of this kind may: whether there is room for it, and it would overtake none of its flow. NULL:
// it may. It must not use the scheduler.
//
// Returns 1 with the packet in `served`; or 0, and `answer` (or NULL) says why.
int dovetail_bypass(struct dovetail_scheduler *scheduler,
                    uint64_t now,
                    dovetail_may_pass may_pass,
                    void *context,
                    struct dovetail_served *served,
                    struct dovetail_answer *answer);

// Change a parameter while running, such as "alpha" to "0.9". `dovetail schedulers NAME` lists those that can change.
//
// Returns 0; or -1 if it cannot, as `error` says (`DOVETAIL_ERROR_SIZE` bytes, or NULL).
int dovetail_set(struct dovetail_scheduler *scheduler,
                 uint64_t now,
                 const char *parameter,
                 const char *value,
                 char *error);

// Counts of packets, of all flows together.
struct dovetail_counts dovetail_stats(const struct dovetail_scheduler *scheduler);

// How many packets of this flow wait; 0 if there is no such flow.
uint32_t dovetail_queued(const struct dovetail_scheduler *scheduler, struct dovetail_flow flow);

// What an alpha that adjusts itself (`tradeoff` with `target` or `protect`) has come to, 0 to 1; negative if none
// does.
double dovetail_alpha(const struct dovetail_scheduler *scheduler);

// A `dovetail_reason` in words, such as "queue-packets".
const char *dovetail_reason_name(int reason);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* DOVETAIL_H */
