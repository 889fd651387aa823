using System.Net;
using System.Runtime.Versioning;
using System.Security.Principal;
using System.Text;
using ProtoRpc.Tests.Security.Sspi;
using ProtoRpc.Tests.Transports.Messages;

namespace ProtoRpc.Tests.Transports.Lrpc;

/// <summary>Services over the RPC runtime of Windows, or of wine.</summary>
[SupportedOSPlatform("windows")]
public static class LrpcServiceTests
{
    private static readonly TimeSpan Short = TimeSpan.FromMilliseconds(300);

    [WindowsFact]
    public static void A_service_answers_and_knows_its_caller()
    {
        using RpcServer server = Start();
        using RpcClient client = EchoServer.Connect(server);

        EchoReply reply = client.Invoke<EchoReply>("Say", new EchoRequest { Text = "Hello via LRPC!" });

        Assert.Equal("Hello via LRPC!", reply.Text);
        using WindowsIdentity self = WindowsIdentity.GetCurrent();
        Assert.Equal(self.Name, reply.User);
    }

    [WindowsFact]
    public static async Task Asynchronous_calls_work_too()
    {
        using RpcServer server = Start();
        using RpcClient client = EchoServer.Connect(server);

        EchoReply reply = await client.InvokeAsync<EchoReply>("Say", new EchoRequest { Text = "later" });

        Assert.Equal("later", reply.Text);
    }

    [WindowsFact]
    public static void A_failure_comes_with_its_details()
    {
        using RpcServer server = Start();
        using RpcClient client = EchoServer.Connect(server);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke<EchoReply>("Fail", new EchoRequest { Text = "told" }));

        Assert.Equal("told", error.Message);
        Assert.Equal("System.InvalidOperationException", error.Remote!.TypeName);
        Assert.Equal("ok", client.Invoke<EchoReply>("Say", new EchoRequest { Text = "ok" }).Text);
    }

    [WindowsFact]
    public static async Task A_deadline_ends_the_call_on_both_sides()
    {
        int ended = 0;
        using RpcServer server = RpcServer.Create(EchoServer.Schema, "calls.Echo")
            .Handle<EchoRequest, EchoReply>("Wait", async (context, _) =>
            {
                try
                {
                    await Task.Delay(Timeout.Infinite, context.CancellationToken);
                }
                finally
                {
                    Interlocked.Increment(ref ended);
                }

                return new EchoReply { Text = "never" };
            })
            .AddEndpoint(MessageServer.NewEndpoint())
            .StartListening();
        using RpcClient client = EchoServer.Connect(server);

        RpcException error = Assert.Throws<RpcException>(() => client.Invoke<EchoReply>(
            "Wait", new EchoRequest { Text = "x" }, new RpcCallOptions { Timeout = Short }));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        await Eventually.TrueAsync(() => ended == 1, "the handler is cancelled by the deadline");
    }

    [WindowsFact]
    public static async Task A_cancelled_call_is_cancelled_on_both_sides()
    {
        TaskCompletionSource runs = new();
        TaskCompletionSource cancelled = new();
        using RpcServer server = RpcServer.Create(EchoServer.Schema, "calls.Echo")
            .Handle<EchoRequest, EchoReply>("Wait", async (context, _) =>
            {
                using CancellationTokenRegistration end =
                    context.CancellationToken.Register(cancelled.SetResult);
                runs.SetResult();
                await Task.Delay(Timeout.Infinite, context.CancellationToken);
                return new EchoReply { Text = "never" };
            })
            .AddEndpoint(MessageServer.NewEndpoint())
            .StartListening();
        using RpcClient client = EchoServer.Connect(server);
        using CancellationTokenSource source = new();
        Task<EchoReply> call = client.InvokeAsync<EchoReply>(
            "Wait", new EchoRequest { Text = "x" }, cancellationToken: source.Token);
        await runs.Task.WaitAsync(ClientCalls.Patience);

        await source.CancelAsync();

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => call);
        Assert.Equal(RpcStatusCode.Cancelled, error.Code);
        await cancelled.Task.WaitAsync(ClientCalls.Patience);
    }

    [WindowsFact]
    public static Task A_handler_acts_as_its_caller() => ActAsync(isLater: false);

    [WindowsFact]
    public static Task A_handler_acts_as_its_caller_on_another_thread() => ActAsync(isLater: true);

    [WindowsFact]
    public static void Two_servers_of_a_process_have_their_own_interfaces()
    {
        using RpcServer server = Start();
        using RpcRawServer raw = RpcRawServer.Create(Guid.NewGuid())
            .OnExecute((client, bytes) => [.. bytes, (byte)client.ProcessId])
            .AddEndpoint(MessageServer.NewEndpoint())
            .StartListening();
        using RpcClient client = EchoServer.Connect(server);
        using RpcRawClient bytes = RpcRawClient.Connect(raw.Endpoints[0], raw.InterfaceId);

        Assert.Equal("a", client.Invoke<EchoReply>("Say", new EchoRequest { Text = "a" }).Text);
        Assert.Equal([1, 2, (byte)Environment.ProcessId], bytes.Execute([1, 2]));
    }

    [WindowsFact]
    public static void An_interface_is_served_once_in_a_process()
    {
        using RpcServer server = Start();

        RpcException error = Assert.Throws<RpcException>(() => Start());

        Assert.Equal(RpcErrorIds.InterfaceInUse, error.ErrorId);
    }

    [WindowsFact]
    public static void A_ping_names_the_services()
    {
        using RpcServer server = Start();

        using RpcClient client = RpcClient.Connect(server.Endpoints[0]);

        RpcPingResult result = client.Ping();

        Assert.Equal(["calls.Echo"], result.Services);
    }

    [WindowsFact]
    public static void A_server_can_require_that_callers_are_known()
    {
        using RpcServer server = Start(new RpcServerOptions
        {
            Security = new RpcServerSecurity { Authentication = RpcAuthentication.Ntlm },
        });
        using RpcClient client = EchoServer.Connect(server, new RpcClientOptions
        {
            Security = new RpcClientSecurity { Authentication = RpcClientAuthentication.Self },
        });

        Assert.Equal("a", client.Invoke<EchoReply>("Say", new EchoRequest { Text = "a" }).Text);
    }

    [WindowsFact]
    public static void A_credential_is_refused_because_the_system_says_who_calls()
    {
        using RpcServer server = Start();

        RpcException error = Assert.Throws<RpcException>(() => EchoServer.Connect(
            server,
            new RpcClientOptions
            {
                Security = new RpcClientSecurity
                {
                    Authentication = RpcClientAuthentication.User,
                    Credential = new NetworkCredential("ann", "secret"),
                },
            }));

        Assert.Equal(RpcErrorIds.AuthenticationNotSupported, error.ErrorId);
    }

    [WindowsFact]
    public static async Task Another_process_serves_calls_and_can_be_killed()
    {
        string name = MessageServer.NewEndpoint().Name;
        using OtherProcess? other = OtherProcess.TryStart(name);
        if (other is null)
        {
            // Only the program that runs the tests under wine can start itself as a server.
            return;
        }

        using RpcRawClient client = RpcRawClient.Connect(RpcEndpoint.Lrpc(name), LrpcProgram.InterfaceId);
        string[] answer = Encoding.UTF8.GetString(client.Execute("who"u8.ToArray())).Split('|');
        using WindowsIdentity self = WindowsIdentity.GetCurrent();
        Assert.Equal(["who", self.Name, $"{Environment.ProcessId}"], answer);

        Task<byte[]> hanging = client.ExecuteAsync("hang"u8.ToArray());
        other.WaitFor("hangs");
        other.Kill();

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => hanging);
        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.True(error.MayHaveExecuted);
    }

    private static async Task ActAsync(bool isLater)
    {
        string? acting = null;
        TokenImpersonationLevel level = default;
        using RpcServer server = RpcServer.Create(EchoServer.Schema, "calls.Echo")
            .Handle<EchoRequest, EchoReply>("Say", async (context, request) =>
            {
                if (isLater)
                {
                    await Task.Delay(1, context.CancellationToken);
                }

                context.Impersonate(() =>
                {
                    using WindowsIdentity? thread = WindowsIdentity.GetCurrent(ifImpersonating: true);
                    acting = thread?.Name;
                    level = thread?.ImpersonationLevel ?? default;
                });
                using WindowsIdentity? after = WindowsIdentity.GetCurrent(ifImpersonating: true);
                return new EchoReply { Text = after is null ? request.Text : "still the caller" };
            })
            .AddEndpoint(MessageServer.NewEndpoint())
            .StartListening();
        using RpcClient client = EchoServer.Connect(server);

        EchoReply reply = await client.InvokeAsync<EchoReply>("Say", new EchoRequest { Text = "done" });

        Assert.Equal("done", reply.Text);
        using WindowsIdentity self = WindowsIdentity.GetCurrent();
        Assert.Equal(self.Name, acting);
        Assert.True(level >= TokenImpersonationLevel.Identification);
    }

    private static RpcServer Start(RpcServerOptions? options = null) =>
        EchoServer.Create(options).AddEndpoint(MessageServer.NewEndpoint()).StartListening();
}
