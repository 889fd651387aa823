using System.Security.Cryptography.X509Certificates;
using System.Text;
using Google.Protobuf;
using Shop;

namespace ProtoRpc.Http.Tests.Docs.Examples;

/// <summary>The examples of the XML docs of servers. <c>address</c> and <c>native</c> are shown as
/// endpoints.</summary>
internal static class ServerExamples
{
    public static async Task<int> ServeAsync(RpcSchema schema, string native)
    {
        // <RpcServer>
        await using RpcServer server = RpcServer.Create(schema, "shop.Orders")
            .Handle<PlaceRequest, PlaceReply>("Place", (context, request) =>
                new PlaceReply { Id = request.Order.Id, Total = request.Order.Items.Count })
            .AddEndpoint(native)
            .StartListening();
        // </RpcServer>
        await using RpcClient client = await RpcClient.ConnectAsync(server.Endpoints[0]);
        return (await client.InvokeAsync<PlaceReply>("Place", ClientExamples.Request("o1"))).Total;
    }

    public static RpcServer ServeWithOptions(RpcSchema schema)
    {
        // <RpcServerOptions>
        RpcServerOptions options = new()
        {
            Limits = new() { MaxConcurrentCalls = 100 },
            Interceptors = [new CheckInterceptor()],
        };
        RpcServer server = RpcServer.Create(schema, "shop.Orders", options);
        // </RpcServerOptions>
        return server;
    }

    public static RpcServerOptions Limit()
    {
        // <RpcLimits>
        RpcLimits limits = RpcLimits.Default with
        {
            MaxMessageBytes = 1024 * 1024,
            CallTimeout = TimeSpan.FromSeconds(10),
        };
        RpcServerOptions options = new() { Limits = limits };
        // </RpcLimits>
        return options;
    }

    public static RpcServerOptions Secure()
    {
        // <RpcServerSecurity>
        RpcServerOptions options = new()
        {
            Security = new()
            {
                Authentication = RpcAuthentication.Negotiate,
                AllowedUsers = [@"SHOP\ann"],
                MinimumLevel = RpcProtectionLevel.Privacy,
            },
        };
        // </RpcServerSecurity>
        return options;
    }

    public static RpcServerOptions Authorize()
    {
        // <RpcAuthorization>
        RpcAuthorization rules = RpcAuthorization.FromRules(new Dictionary<string, object>
        {
            ["shop.Orders/*"] = "*",
            ["shop.Orders/Place"] = new[] { "ann", "@Sales" },
        });
        RpcServerOptions options = new() { Interceptors = [rules] };
        // </RpcAuthorization>
        return options;
    }

    public static async Task ChangeAsync(RpcServer server)
    {
        // <RpcServerChange>
        await server.ChangeAsync(new RpcServerChange
        {
            Handlers = new Dictionary<string, RpcMethodHandler>
            {
                ["Place"] = RpcMethodHandler.OfReplies(new { id = "closed" }),
            },
        });
        // </RpcServerChange>
    }

    public static RpcServer Handlers(RpcSchema schema)
    {
        // <RpcMethodHandler>
        RpcMethodHandler place = RpcMethodHandler.OfReplies(new { id = "o1" });
        RpcServer server = RpcServer.Create(schema, "shop.Orders")
            .Handle("Place", place);
        // </RpcMethodHandler>
        return server;
    }

    public static async Task<byte[]> RawAsync(Guid interfaceId, string native)
    {
        // <RpcRawServer>
        await using RpcRawServer server = RpcRawServer.Create(interfaceId)
            .OnExecute((client, bytes) =>
                Encoding.UTF8.GetBytes(Encoding.UTF8.GetString(bytes).ToUpperInvariant()))
            .AddEndpoint(native)
            .StartListening();
        // </RpcRawServer>
        return await ClientExamples.RawAsync(server.Endpoints[0].ToString(), interfaceId);
    }

    public static RpcRawServer RawWithOptions(Guid interfaceId)
    {
        // <RpcRawServerOptions>
        RpcRawServerOptions options = new() { MaxRequestBytes = 64 * 1024, MaxCalls = 20 };
        RpcRawServer server = RpcRawServer.Create(interfaceId, options);
        // </RpcRawServerOptions>
        return server;
    }

    public static RpcServerOptions Log(string path)
    {
        // <RpcAccessLog>
        RpcServerOptions options = new() { AccessLog = RpcAccessLog.ToFile(path) };
        // </RpcAccessLog>
        return options;
    }

    public static RpcServerOptions LogSlow(TextWriter Console)
    {
        // <RpcAccessLogEntry>
        RpcServerOptions options = new()
        {
            AccessLog = RpcAccessLog.To(call =>
                Console.WriteLine($"{call.User} {call.Method} {call.Status} {call.Milliseconds} ms")),
        };
        // </RpcAccessLogEntry>
        return options;
    }

    public static RpcServerOptions Record(string path)
    {
        // <RpcCallRecorder>
        using RpcCallRecorder recorder = new(path);
        RpcServerOptions options = new() { Interceptors = [recorder] };
        // </RpcCallRecorder>
        return options;
    }

    public static RpcClientOptions Trace(TextWriter Console)
    {
        // <RpcTrace>
        RpcClientOptions options = new() { Trace = RpcTrace.To(entry => Console.WriteLine(entry)) };
        // </RpcTrace>
        return options;
    }

    public static RpcTrace TraceSent(TextWriter Console)
    {
        // <RpcTraceEntry>
        RpcTrace trace = RpcTrace.To(entry =>
            Console.WriteLine($"{entry.Time:T} {(entry.IsSent ? ">" : "<")} {entry.Text}"));
        // </RpcTraceEntry>
        return trace;
    }

    public static RpcTlsOptions Tls(string caFile, string clientFile)
    {
        // <RpcTlsOptions>
        RpcTlsOptions tls = new()
        {
            CaCertificates = [X509CertificateLoader.LoadCertificateFromFile(caFile)],
            ClientCertificate = X509CertificateLoader.LoadPkcs12FromFile(clientFile, password: null),
        };
        RpcClientOptions options = new() { Tls = tls };
        // </RpcTlsOptions>
        return options.Tls;
    }

    public static async Task<string> ForwardAsync(RpcClient orders, string address)
    {
        // <RpcGateway>
        await using RpcServer gateway = RpcGateway.Create(
                orders, serverOptions: new RpcServerOptions().WithHttp())
            .AddEndpoint(address)
            .StartListening();
        // </RpcGateway>
        await using RpcClient client = await RpcClient.ConnectAsync(gateway.Endpoints[0]);
        return (await client.InvokeAsync<PlaceReply>("Place", ClientExamples.Request("o1"))).Id;
    }
}

// <IRpcInterceptor>
internal sealed class CheckInterceptor : IRpcInterceptor
{
    public ValueTask<IMessage> InvokeAsync(
        RpcServerCallContext context, IMessage request, RpcHandler next) =>
        context.RequestHeaders.GetText("x-tenant") is null
            ? throw new RpcException(RpcStatusCode.InvalidArgument, "x-tenant is missing.")
            : next(context, request);
}
// </IRpcInterceptor>
