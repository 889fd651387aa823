using System.Buffers;
using System.Globalization;
using ProtoRpc.Client.Native;
using ProtoRpc.Server.Native;

namespace ProtoRpc.Interop;

/// <summary>tshark as the judge of what client and listener say to each other.</summary>
public static class TsharkTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    [PeerFact(Peer.Tshark)]
    public static async Task A_conversation_is_dissected_without_a_malformed_mark()
    {
        IReadOnlyList<(bool, byte[])> said = await TalkAsync();
        string file = Path.GetTempFileName();
        try
        {
            const ushort port = 1024;
            PcapFile.Write(file, port, said);
            string[] decode = ["-r", file, "-d", $"tcp.port=={port},dcerpc"];
            using PeerProcess types = PeerProcess.Start(
                Peers.Tshark,
                [
                    .. decode, "-Y", "dcerpc", "-T", "fields",
                    "-e", "dcerpc.pkt_type", "-e", "dcerpc.cn_status",
                ]);
            using PeerProcess details = PeerProcess.Start(Peers.Tshark, [.. decode, "-V"]);

            string[] values = (await types.ReadToEndAsync())
                .Split(['\n', '\t', ','], StringSplitOptions.RemoveEmptyEntries);
            string text = await details.ReadToEndAsync();

            Assert.DoesNotContain("Malformed", text, StringComparison.OrdinalIgnoreCase);
            Assert.DoesNotContain("Expert Info (Error", text, StringComparison.Ordinal);

            // bind, bind_ack, requests and responses, a fault, orphaned.
            foreach (int type in new[] { 11, 12, 0, 2, 3, 19 })
            {
                Assert.Contains(type.ToString(CultureInfo.InvariantCulture), values);
            }

            Assert.Contains("0x1c010003", values);
            Assert.Contains("32bit NDR", text, StringComparison.Ordinal);
        }
        finally
        {
            File.Delete(file);
        }
    }

    // Small and large calls, a return code, a deadline, and an interface that is withdrawn.
    private static async Task<IReadOnlyList<(bool, byte[])>> TalkAsync()
    {
        Guid id = Guid.NewGuid();
        using ManualResetEventSlim release = new();
        NativeListener listener = NativeListener.Serve(
            RpcEndpoint.Tcp("127.0.0.1", 0),
            new ExecInterface(id, call =>
            {
                if (call.Request.Length == 1)
                {
                    release.Wait(Patience);
                }

                call.ReturnCode = call.Request.Length == 2 ? 1715 : 0;
                call.Reply.Write(call.Request.Span);
                return ValueTask.CompletedTask;
            }),
            RpcLimits.Default);
        ExecInterface other = new(Guid.NewGuid(), _ => ValueTask.CompletedTask);
        NativeListener.Serve(listener.Endpoint, other, RpcLimits.Default);

        List<(bool, byte[])> said = [];
        foreach (string ending in new[] { "deadline", "withdrawn" })
        {
            using RecordingRelay relay = new(listener.Endpoint.Port);
            using (NativeConnectionPool client = NativeConnectionPool.Connect(
                RpcEndpoint.Tcp("127.0.0.1", relay.Port), id, RpcLimits.Default))
            {
                Assert.Equal(0, Call(client, 0, Patience));
                Assert.Equal(0, Call(client, 5, Patience));
                Assert.Equal(0, Call(client, 20_000, Patience));
                Assert.Equal(1715, Call(client, 2, Patience));
                if (ending == "withdrawn")
                {
                    await listener.StopServingAsync(id, Patience);
                }

                Assert.Throws<RpcException>(() => Call(client, 1, TimeSpan.FromMilliseconds(300)));
                release.Set();
            }

            said.AddRange(await relay.WaitAsync());
        }

        await listener.DisposeAsync();
        return said;
    }

    private static int Call(NativeConnectionPool client, int length, TimeSpan timeout)
    {
        using NativeClientCall exchange = client.Begin();
        exchange.Request.Write(new byte[length]);
        int code = exchange.Execute(timeout);
        Assert.Equal(code == 0 ? length : 0, exchange.Reply.Length);
        return code;
    }
}
