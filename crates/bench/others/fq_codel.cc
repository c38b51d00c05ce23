// Packets through ns-3's FqCoDel or FIFO queue disc in front of a point-to-point link:
// `fq_codel DISC RATE_BPS PACKETS`, where a line of PACKETS is a time in nanoseconds, a flow from 0, and bytes with all
// headers. Prints a line per flow: packets that came, and their latencies' mean in seconds.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace
{
// UDP and IPv4, and the two bytes of PPP.
constexpr uint32_t HEADERS = 8 + 20 + 2;
constexpr uint16_t PORT = 9;

struct Flow
{
    Ptr<Socket> socket;
    uint64_t count = 0;
    double sum = 0.0;
};

std::map<uint16_t, Flow> flows;

void
Send(uint16_t flow, uint32_t size)
{
    std::vector<uint8_t> payload(std::max<uint32_t>(size - HEADERS, 8));
    const int64_t now = Simulator::Now().GetNanoSeconds();
    std::memcpy(payload.data(), &now, sizeof now);
    flows[flow].socket->Send(Create<Packet>(payload.data(), payload.size()));
}

void
Receive(Ptr<Socket> socket)
{
    Address from;
    while (Ptr<Packet> packet = socket->RecvFrom(from))
    {
        int64_t sent = 0;
        packet->CopyData(reinterpret_cast<uint8_t*>(&sent), sizeof sent);
        Flow& flow = flows[InetSocketAddress::ConvertFrom(from).GetPort() - 1000];
        flow.count += 1;
        flow.sum += (Simulator::Now().GetNanoSeconds() - sent) / 1e9;
    }
}
} // namespace

int
main(int argc, char* argv[])
{
    if (argc != 4)
    {
        std::fprintf(stderr, "usage: fq_codel DISC RATE_BPS PACKETS\n");
        return 2;
    }
    NodeContainer nodes;
    nodes.Create(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(std::string(argv[2]) + "bps"));
    link.SetChannelAttribute("Delay", StringValue("0s"));
    // As little as may be behind the queue disc.
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    NetDeviceContainer devices = link.Install(nodes);
    InternetStackHelper().Install(nodes);
    TrafficControlHelper control;
    if (std::string(argv[1]) == "fq_codel")
    {
        control.SetRootQueueDisc("ns3::FqCoDelQueueDisc", "DropBatchSize", UintegerValue(1));
    }
    else
    {
        control.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("1000000p"));
    }
    QueueDiscContainer discs = control.Install(devices);
    if (Ptr<FqCoDelQueueDisc> disc = DynamicCast<FqCoDelQueueDisc>(discs.Get(0)))
    {
        disc->SetQuantum(1514);
    }
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    Ptr<Socket> sink = Socket::CreateSocket(nodes.Get(1), UdpSocketFactory::GetTypeId());
    sink->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
    sink->SetRecvCallback(MakeCallback(&Receive));

    std::ifstream packets(argv[3]);
    int64_t at;
    uint16_t flow;
    uint32_t size;
    while (packets >> at >> flow >> size)
    {
        Flow& own = flows[flow];
        if (!own.socket)
        {
            own.socket = Socket::CreateSocket(nodes.Get(0), UdpSocketFactory::GetTypeId());
            own.socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), 1000 + flow));
            own.socket->Connect(InetSocketAddress(interfaces.GetAddress(1), PORT));
        }
        Simulator::Schedule(NanoSeconds(at), &Send, flow, size);
    }
    Simulator::Run();
    for (const auto& [number, own] : flows)
    {
        std::printf("%lu %.9f\n", own.count, own.count ? own.sum / own.count : 0.0);
    }
    Simulator::Destroy();
    return 0;
}
