using System.Collections.Concurrent;
using System.Net;
using System.Text.Json;
using ProtoRpc.Tests.Schema;
using ProtoRpc.Tests.Transports;

namespace ProtoRpc.Tests.Server;

/// <summary>What a server writes of the calls on native endpoints and within the process.</summary>
public sealed class AccessLogTests : IDisposable
{
    private static readonly EchoRequest Hello = new() { Text = "hello" };
    private static readonly Guid Interface = new("b1f2c2b4-5d3e-4c7a-9f10-2a6b8c0d4e61");

    private readonly TempFolder _folder = new();
    private readonly ConcurrentQueue<RpcAccessLogEntry> _entries = new();
    private readonly ConcurrentQueue<string> _warnings = new();

    private RpcServerOptions Logged => new()
    {
        AccessLog = RpcAccessLog.To(_entries.Enqueue, _warnings.Enqueue),
    };

    private string File => Path.Combine(_folder.Path, "access.jsonl");

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData("ncacn_ip_tcp:127.0.0.1[0]")]
    [InlineData("ncalrpc:[NAME]")]
    [InlineData("inproc://NAME")]
    public void Has_who_called_what_and_how_it_ended(string endpoint)
    {
        RpcException failure;
        using (RpcServer server = EchoServer.Create(Logged)
            .AddEndpoint(endpoint.Replace("NAME", $"t{Guid.NewGuid():N}", StringComparison.Ordinal))
            .StartListening())
        {
            using RpcClient client = EchoServer.Connect(server);
            client.Invoke<EchoReply>("Say", Hello);
            failure = Assert.Throws<RpcException>(() => client.Invoke<EchoReply>("Fail", Hello));
        }

        RpcAccessLogEntry[] calls =
            [.. _entries.Where(call => call.Method.StartsWith("calls.", StringComparison.Ordinal))];
        Assert.Equal(
            [("calls.Echo/Say", RpcStatusCode.OK), ("calls.Echo/Fail", RpcStatusCode.Unknown)],
            calls.Select(call => (call.Method, call.Status)));
        Assert.All(calls, call =>
        {
            Assert.InRange(call.Time, DateTimeOffset.UtcNow.AddMinutes(-1), DateTimeOffset.UtcNow);
            Assert.InRange(call.Milliseconds, 0.0001, 60_000);
            Assert.True(call.BytesIn >= Hello.CalculateSize(), $"{call.BytesIn} bytes came");
            Assert.Equal(call.Transport, call.Endpoint.Transport);
            bool isTcp = call.Transport == RpcTransport.Tcp;
            Assert.StartsWith(isTcp ? "127.0.0.1:" : "pid:", call.Peer, StringComparison.Ordinal);
            Assert.Equal(isTcp ? "" : LocalUser.Name, call.User);
        });
        Assert.Equal([null, failure.CorrelationId], calls.Select(call => call.CorrelationId));
        Assert.True(calls[0].BytesOut >= Hello.CalculateSize(), $"{calls[0].BytesOut} bytes went");
        Assert.Empty(_warnings);
    }

    [Fact]
    public void Is_a_file_of_JSON_lines_that_is_whole_when_the_server_has_stopped()
    {
        const int Calls = 500;
        using (RpcServer server = EchoServer.Start(
            RpcTransport.Local, new RpcServerOptions { AccessLog = RpcAccessLog.ToFile(File) }))
        {
            Parallel.For(0, 4, _ =>
            {
                using RpcClient client = EchoServer.Connect(server);
                for (int i = 0; i < Calls / 4; i++)
                {
                    client.Invoke<EchoReply>("Say", Hello);
                }
            });
        }

        JsonElement[] lines =
        [
            .. System.IO.File.ReadLines(File).Select(line => JsonDocument.Parse(line).RootElement)
                .Where(line => line.GetProperty("method").GetString() == "calls.Echo/Say"),
        ];
        Assert.Equal(Calls, lines.Length);
        Assert.All(lines, line =>
        {
            Assert.Equal("OK", line.GetProperty("status").GetString());
            Assert.Equal("Local", line.GetProperty("transport").GetString());
            Assert.Equal(DateTimeKind.Utc, line.GetProperty("time").GetDateTime().Kind);
            Assert.True(line.GetProperty("milliseconds").GetDouble() >= 0);
        });
    }

    [Fact]
    public void Has_the_name_of_a_method_that_does_not_exist_and_none_of_its_line_breaks()
    {
        const string Hostile = "No\r\n{\"status\":\"OK\"}\u001b[2J\u202e";
        using (RpcServer server = EchoServer.Start(RpcTransport.Tcp, Logged with
        {
            AccessLog = RpcAccessLog.ToFile(File),
        }))
        {
            using WireCaller caller = new(server.Endpoints[0], server.Services[0].Value);
            caller.Call(Hostile, Hello);
            caller.Call(new string('x', 100_000), Hello);
        }

        string[] lines = System.IO.File.ReadAllLines(File);
        Assert.Equal(2, lines.Length);
        Assert.All(lines, line => Assert.DoesNotContain(line, c => char.IsControl(c) || c == '\u202e'));
        string[] methods =
        [
            .. lines.Select(
                line => JsonDocument.Parse(line).RootElement.GetProperty("method").GetString()!),
        ];
        Assert.StartsWith("calls.Echo/No\\u000D\\u000A{\"status\"", methods[0], StringComparison.Ordinal);
        Assert.Equal(256, methods[1].Length);
    }

    [Fact]
    public void Has_the_calls_that_are_refused_before_a_handler()
    {
        RpcServerOptions options = Logged with
        {
            Security = new()
            {
                Authentication = RpcAuthentication.Ntlm,
                NtlmAccounts = [NtlmAccount.From(new NetworkCredential("bob", "Pa55word"))],
            },
            Limits = RpcLimits.Default with { MaxMessageBytes = 100_000 },
        };
        using (RpcServer server = EchoServer.Start(RpcTransport.Tcp, options))
        {
            Assert.Throws<RpcException>(() =>
            {
                using RpcClient anonymous = EchoServer.Connect(server);
                anonymous.Invoke<EchoReply>("Say", Hello);
            });
            Assert.Throws<RpcException>(() =>
            {
                using RpcClient wrong = EchoServer.Connect(server, As("bob", "wrong-Pa55word"));
                wrong.Invoke<EchoReply>("Say", Hello);
            });
            using RpcClient right = EchoServer.Connect(server, As("bob", "Pa55word"));
            right.Invoke<EchoReply>("Say", Hello);
            Assert.Throws<RpcException>(
                () => right.Invoke<EchoReply>("Say", new EchoRequest { Text = new string('x', 200_000) }));
        }

        RpcAccessLogEntry[] entries = [.. _entries];
        Assert.Equal(
            [
                (RpcStatusCode.Unauthenticated, ""), (RpcStatusCode.Unauthenticated, ""),
                (RpcStatusCode.OK, "bob"), (RpcStatusCode.ResourceExhausted, "bob"),
            ],
            entries.Where(call => call.Method.StartsWith("calls.Echo", StringComparison.Ordinal))
                .Select(call => (call.Status, call.User)));
        Assert.All(
            entries, call => Assert.DoesNotContain("Pa55word", call.ToString(), StringComparison.Ordinal));
    }

    [Fact]
    public void Has_the_calls_of_the_raw_layer_and_those_that_find_it_too_busy()
    {
        using (RpcRawServer server = RpcRawServer
            .Create(Interface, new RpcRawServerOptions
            {
                AccessLog = RpcAccessLog.To(_entries.Enqueue),
                MaxRequestBytes = 10,
            })
            .OnExecute((RpcRawContext _, byte[] bytes) => [.. bytes, .. bytes])
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening())
        {
            using RpcRawClient client = RpcRawClient.Connect(server.Endpoints[0], Interface);
            client.Execute([1, 2, 3]);
            Assert.Throws<RpcException>(() => client.Execute(new byte[11]));
        }

        Assert.Equal(
            [(Interface.ToString(), RpcStatusCode.OK, 3L, 6L),
                (Interface.ToString(), RpcStatusCode.ResourceExhausted, 11L, 0L)],
            _entries.Select(call => (call.Method, call.Status, call.BytesIn, call.BytesOut)));
    }

    [Fact]
    public async Task Never_holds_up_a_call_and_loses_what_finds_no_room()
    {
        using ManualResetEventSlim gate = new();
        int written = 0;
        RpcServer server = EchoServer.Start(RpcTransport.Local, new RpcServerOptions
        {
            AccessLog = RpcAccessLog.To(
                _ =>
                {
                    gate.Wait();
                    written++;
                },
                _warnings.Enqueue),
        });
        using (RpcClient client = EchoServer.Connect(server))
        {
            for (int i = 0; i < 9_000; i++)
            {
                client.Invoke<EchoReply>("Say", Hello);
            }
        }

        gate.Set();
        await server.DisposeAsync();

        Assert.InRange(written, 8_192, 8_999);
        Assert.Contains(_warnings, text => text.Contains("are lost", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Warns_when_its_method_throws_and_goes_on()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local, new RpcServerOptions
        {
            AccessLog = RpcAccessLog.To(_ => throw new IOException("no disk"), _warnings.Enqueue),
        });
        using RpcClient client = EchoServer.Connect(server);

        client.Invoke<EchoReply>("Say", Hello);
        client.Invoke<EchoReply>("Say", Hello);

        await Eventually.TrueAsync(() => _warnings.Count >= 2, "two warnings");
        Assert.All(_warnings, text => Assert.Contains("no disk", text));
    }

    [Fact]
    public void Is_no_listener_when_the_file_cannot_be_written()
    {
        RpcException error = Assert.Throws<RpcException>(() => EchoServer.Start(
            RpcTransport.Local, new RpcServerOptions { AccessLog = RpcAccessLog.ToFile(_folder.Path) }));

        Assert.Equal(RpcErrorIds.CannotWriteFile, error.ErrorId);
    }

    [Fact]
    public void Is_closed_again_when_an_endpoint_cannot_be_bound()
    {
        using RpcServer first = EchoServer.Start(RpcTransport.Local);
        RpcServer second = EchoServer.Create(new() { AccessLog = RpcAccessLog.ToFile(File) })
            .AddEndpoint(first.Endpoints[0]);

        Assert.Throws<RpcException>(second.StartListening);
        System.IO.File.Delete(File);

        Assert.False(System.IO.File.Exists(File));
    }

    private static RpcClientOptions As(string user, string password) => new()
    {
        Security = new()
        {
            Authentication = RpcClientAuthentication.User,
            Mechanism = RpcMechanism.Ntlm,
            Credential = new NetworkCredential(user, password),
        },
    };
}
