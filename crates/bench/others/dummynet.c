/*
 * dummynet's schedulers in the neutral loop of dovetail-bench: packets of random flows, four waiting per flow, in 64
 * bytes each that lie in random order in memory. Prints nanoseconds for one packet that comes and one that goes, the
 * least of seven rounds. `make dummynet` builds it with a checkout of dummynet.
 *
 *     dummynet fifo|rr|qfq FLOWS BURST
 */
#include <dn_test.h>
#include <time.h>

enum { BACKLOG = 4, LONGEST_BURST = 32, ROUNDS = 7, LENGTH = 800 };

int debug;
struct dn_parms dn_cfg;
extern moduledata_t *_g_dn_fifo, *_g_dn_rr, *_g_dn_qfq;

struct packet {
	struct mbuf m;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct packet) == 64, "a packet is one cache line");

static struct dn_alg *alg;
static struct dn_sch_inst *instance;
static char *queues;
static size_t queue_size;
static unsigned flows;

/* Packets that are not in the scheduler, as a ring: the one that left first is used first. */
static struct mbuf **idle;
static unsigned places, next_idle, next_back;
static unsigned long read_of_them;

static uint64_t state = 88172645463325252;

static void
fail(const char *why)
{
	fprintf(stderr, "%s\n", why);
	exit(1);
}

static unsigned
draw(unsigned below)
{
	state = state * 6364136223846793005 + 1442695040888963407;
	return ((state >> 32) * below) >> 32;
}

static void
come(unsigned flow)
{
	struct mbuf *m = idle[next_idle];

	next_idle = next_idle + 1 == places ? 0 : next_idle + 1;
	m->m_pkthdr.len = LENGTH;
	m->m_nextpkt = NULL;
	m->flow_id = flow;
	if (alg->enqueue(instance, (struct dn_queue *)(queues + queue_size * flow), m))
		fail("a packet was refused");
}

static void
go(void)
{
	struct mbuf *m = alg->dequeue(instance);

	if (!m)
		fail("no packet came back");
	read_of_them += m->m_pkthdr.len + m->flow_id;
	idle[next_back] = m;
	next_back = next_back + 1 == places ? 0 : next_back + 1;
}

static void
turns(long packets, int burst)
{
	for (long done = 0; done < packets; done += burst) {
		for (int i = 0; i < burst; i++)
			come(draw(flows));
		for (int i = 0; i < burst; i++)
			go();
	}
}

static void *
lines(size_t bytes)
{
	bytes = (bytes + 63) / 64 * 64;
	return memset(aligned_alloc(64, bytes), 0, bytes);
}

static void
set_up(void)
{
	struct dn_schk *template = calloc(1, sizeof(*template) + 4096);
	struct dn_fsk *flowset = calloc(1, sizeof(*flowset));

	template->fp = alg;
	template->fs = flowset;
	flowset->sched = template;
	if (alg->config)
		alg->config(template);
	instance = lines(sizeof(*instance) + alg->si_datalen + sizeof(struct dn_queue));
	instance->sched = template;
	if (alg->new_fsk)
		alg->new_fsk(flowset);
	if (alg->new_sched)
		alg->new_sched(instance);
	queue_size = (sizeof(struct dn_queue) + alg->q_datalen + 63) / 64 * 64;
	queues = lines(queue_size * flows);
	for (unsigned i = 0; i < flows; i++) {
		struct dn_queue *q = (struct dn_queue *)(queues + queue_size * i);

		q->_si = instance;
		q->fs = flowset;
		if ((alg->flags & DN_MULTIQUEUE) && alg->new_queue && alg->new_queue(q))
			fail("so many flows are more than it takes");
	}
	places = flows * BACKLOG + LONGEST_BURST;
	struct packet *memory = lines(sizeof(*memory) * places);

	idle = malloc(places * sizeof(*idle));
	for (unsigned i = 0; i < places; i++)
		idle[i] = &memory[i].m;
	for (unsigned i = places - 1; i > 0; i--) {
		unsigned j = draw(i + 1);
		struct mbuf *m = idle[i];

		idle[i] = idle[j];
		idle[j] = m;
	}
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

int
main(int count, char **argument)
{
	static moduledata_t **const modules[] = { &_g_dn_fifo, &_g_dn_rr, &_g_dn_qfq };
	static const char *const names[] = { "fifo", "rr", "qfq" };
	moduledata_t *module = NULL;

	for (int i = 0; count == 4 && i < 3; i++)
		module = strcmp(argument[1], names[i]) ? module : *modules[i];
	if (!module || (flows = atoi(argument[2])) - 1 >= 10000000) {
		fprintf(stderr, "usage: dummynet fifo|rr|qfq FLOWS BURST\n");
		return 2;
	}
	int burst = atoi(argument[3]);

	if (burst < 1 || burst > LONGEST_BURST) {
		fprintf(stderr, "a burst has 1 to %d packets\n", LONGEST_BURST);
		return 2;
	}
	alg = module->p;
	set_up();
	for (unsigned i = 0; i < flows * BACKLOG; i++)
		come(i % flows);
	long packets = 20L * flows > 2000000 ? 20L * flows : 2000000;
	double least = 1e18;

	turns(packets, burst);
	for (int round = 0; round < ROUNDS; round++) {
		double began = now();

		turns(packets, burst);
		double took = (now() - began) / packets;
		least = took < least ? took : least;
	}
	printf("%s, %u flows, by %d: %.1f ns\n", argument[1], flows, burst, least);
	return read_of_them == 0;
}
