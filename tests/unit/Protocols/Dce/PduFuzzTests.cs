using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Tests.Protocols.Dce;

/// <summary>Damaged conversations: whatever comes, nothing but the documented happens,
/// in bounded memory.</summary>
public static class PduFuzzTests
{
    private const int Rounds = 4000;
    private const int MaxAllocated = 1 << 20;

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public static void A_server_survives_damaged_input(int seed)
    {
        Random random = new(seed);
        byte[][] seeds = [.. WireVector.AllNames.Select(name => WireVector.Load(name).Bytes)];
        byte[] bind = Conversation.Bind();

        for (int round = 0; round < Rounds; round++)
        {
            byte[] bytes = Conversation.Join(bind, Damage(random, seeds));
            using ServerAssociation server = Conversation.Server();
            long before = GC.GetAllocatedBytesForCurrentThread();

            byte[] answer = server.Feed(bytes);

            Assert.True(GC.GetAllocatedBytesForCurrentThread() - before < MaxAllocated + (64 * bytes.Length));
            Assert.True(answer.Length >= PduHeader.Size);
        }
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    public static void A_client_survives_damaged_answers(int seed)
    {
        Random random = new(seed);
        using ServerAssociation server = Conversation.Server();
        byte[] ack = server.Feed(Conversation.Bind(fragment: 1432));
        byte[] reply = server.Feed(Conversation.Request(Transports.ClientCalls.Bytes(5000)));
        byte[][] seeds = [ack, reply, .. WireVector.AllNames.Select(name => WireVector.Load(name).Bytes)];

        for (int round = 0; round < Rounds; round++)
        {
            byte[] bytes = Conversation.Join(round % 2 == 0 ? ack : [], Damage(random, seeds));
            using ClientAssociation client =
                new(RpcEndpoint.Local("x"), Conversation.Service, RpcLimits.Default);
            client.Bind(0);
            using PooledMessageBytes request = new(
                100, "request", ClientAssociation.RequestPrefix, ClientAssociation.RequestSuffix);
            long before = GC.GetAllocatedBytesForCurrentThread();

            // RpcException is the one documented outcome besides an answer.
            Exception? error = Record.Exception(() => Feed(client, request, bytes));

            Assert.True(error is null or RpcException, error?.ToString());
            Assert.True(GC.GetAllocatedBytesForCurrentThread() - before < MaxAllocated + (64 * bytes.Length));
        }
    }

    private static void Feed(ClientAssociation client, PooledMessageBytes request, byte[] bytes)
    {
        int start = 0;
        while (true)
        {
            ClientStep step = client.Step();
            if (step is ClientStep.Bound or ClientStep.Reply or ClientStep.Fault)
            {
                client.BeginCall(request);
            }
            else if (step == ClientStep.Receive && start == bytes.Length)
            {
                return;
            }
            else if (step == ClientStep.Receive)
            {
                Memory<byte> free = client.GetFreeMemory();
                int count = Math.Min(free.Length, bytes.Length - start);
                bytes.AsSpan(start, count).CopyTo(free.Span);
                client.Advance(count);
                start += count;
            }
        }
    }

    private static byte[] Damage(Random random, byte[][] seeds)
    {
        List<byte> bytes = [];
        for (int i = random.Next(1, 4); i > 0; i--)
        {
            bytes.AddRange(seeds[random.Next(seeds.Length)]);
        }

        for (int i = random.Next(1, 9); i > 0 && bytes.Count > 0; i--)
        {
            // Headers are damaged more often than payloads, for that is where decisions are made.
            int at = random.Next(2) == 0 ? random.Next(Math.Min(64, bytes.Count)) : random.Next(bytes.Count);
            switch (random.Next(5))
            {
                case 0:
                    bytes[at] = (byte)random.Next(256);
                    break;
                case 1:
                    bytes[at] ^= (byte)(1 << random.Next(8));
                    break;
                case 2:
                    bytes[at] = random.Next(2) == 0 ? (byte)0xFF : (byte)0;
                    break;
                case 3:
                    bytes.RemoveRange(at, Math.Min(random.Next(1, 9), bytes.Count - at));
                    break;
                default:
                    bytes.InsertRange(at, new byte[random.Next(1, 9)]);
                    break;
            }
        }

        return [.. bytes];
    }
}
