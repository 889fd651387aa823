using System.Collections.Concurrent;
using System.Net;
using System.Text;
using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Tests.Protocols.Dce;

/// <summary>The trace of PDUs, whole and damaged, on clients and servers.</summary>
public static class PduTraceTests
{
    private static readonly RpcEndpoint Endpoint = RpcEndpoint.Parse("tcp://host:1");

    [Fact]
    public static void Names_type_call_flags_and_lengths()
    {
        byte[] bind = new BindPdu(
            5840, 5840, 0, [new ContextProposal(0, new SyntaxId(Guid.Empty, 1), [SyntaxId.Ndr])])
            .ToBytes(PduType.Bind, 7);
        byte[] fault = FaultPdu.ToBytes(0x5, 8, 0, didNotExecute: true);

        string[] lines = TextsOf([.. bind, .. fault]);

        Assert.Equal(
            [
                "Bind call 7, 72 bytes, flags Single, fragments 5840/5840, group 0, "
                    + "context 0 00000000-0000-0000-0000-000000000000",
                "Fault call 8, 32 bytes, flags Single, DidNotExecute, status 0x00000005 (access denied)",
            ],
            lines);
    }

    [Fact]
    public static void Bears_PDUs_that_are_cut_at_every_byte_and_damaged_at_every_byte()
    {
        byte[] whole = AuthTrailer.Append(
            new BindPdu(5840, 5840, 0, [new ContextProposal(0, SyntaxId.Ndr, [SyntaxId.Ndr])])
                .ToBytes(PduType.Bind, 7),
            new AuthTrailer(10, 6, 0, 1),
            Encoding.ASCII.GetBytes("NTLMSSP and secrets"));

        for (int i = 0; i < whole.Length; i++)
        {
            Assert.All(TextsOf(whole[..i]), NoSecret);
            byte[] damaged = [.. whole];
            damaged[i] ^= 0xFF;
            Assert.All(TextsOf(damaged), NoSecret);
        }

        Assert.EndsWith(", verifier NTLM level 6, 19 bytes", Assert.Single(TextsOf(whole)));
    }

    [Theory]
    [InlineData(RpcProtectionLevel.Connect)]
    [InlineData(RpcProtectionLevel.Privacy)]
    public static void Has_neither_passwords_nor_tokens_nor_messages(RpcProtectionLevel level)
    {
        ConcurrentQueue<string> lines = new();
        RpcTrace trace = RpcTrace.To(entry => lines.Enqueue(entry.ToString()));
        RpcServerOptions options = new()
        {
            Trace = trace,
            Security = new()
            {
                Authentication = RpcAuthentication.Ntlm,
                MinimumLevel = RpcProtectionLevel.Connect,
                NtlmAccounts = [NtlmAccount.From(new NetworkCredential("bob", "Pa55word"))],
            },
        };
        using RpcServer server = EchoServer.Start(RpcTransport.Tcp, options);
        using RpcClient client = EchoServer.Connect(server, new()
        {
            Trace = trace,
            Security = new()
            {
                Authentication = RpcClientAuthentication.User,
                Mechanism = RpcMechanism.Ntlm,
                ProtectionLevel = level,
                Credential = new NetworkCredential("bob", "Pa55word"),
            },
        });

        client.Invoke<EchoReply>(
            "Say", new EchoRequest { Text = "my c4rd" },
            new() { Headers = new() { { "authorization", "Bearer t0ken" } } });

        // Both sides: bind, bind_ack, auth3, request and response.
        Assert.Equal(10, lines.Count);
        Assert.Contains(lines, line => line.Contains("-> ") && line.Contains("Bind call 1"));
        Assert.Contains(lines, line => line.Contains("<- ") && line.Contains("BindAck call 1"));
        Assert.Equal(2, lines.Count(line => line.Contains("Auth3") && line.Contains("verifier NTLM level")));
        Assert.All(lines, line =>
        {
            foreach (string secret in new[] { "Pa55word", "t0ken", "c4rd", "NTLMSSP", "bob" })
            {
                Assert.DoesNotContain(secret, line, StringComparison.OrdinalIgnoreCase);
                string hex = Convert.ToHexString(Encoding.UTF8.GetBytes(secret));
                Assert.DoesNotContain(hex, line, StringComparison.OrdinalIgnoreCase);
            }
        });
    }

    [Fact]
    public static void Makes_nothing_while_it_is_not_enabled_and_breaks_no_call_when_it_throws()
    {
        Broken trace = new();
        using RpcServer server = EchoServer.Start(RpcTransport.Local, new() { Trace = trace });
        using RpcClient client = EchoServer.Connect(server, new() { Trace = trace });

        client.Invoke<EchoReply>("Say", new EchoRequest { Text = "x" });
        Assert.Equal(0, trace.Count);
        trace.Enabled = true;
        client.Invoke<EchoReply>("Say", new EchoRequest { Text = "x" });

        Assert.Equal(4, trace.Count);
    }

    private static void NoSecret(string line) => Assert.DoesNotContain("secrets", line);

    private static string[] TextsOf(byte[] pdus)
    {
        List<string> texts = [];
        PduTrace.Write(RpcTrace.To(entry => texts.Add(entry.Text)), Endpoint, isSent: true, pdus);
        return [.. texts];
    }

    private sealed class Broken : RpcTrace
    {
        private int _count;

        public bool Enabled { get; set; }

        public int Count => _count;

        public override bool IsEnabled => Enabled;

        public override void Write(RpcTraceEntry entry)
        {
            Interlocked.Increment(ref _count);
            throw new InvalidOperationException("full");
        }
    }
}
