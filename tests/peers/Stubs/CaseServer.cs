using Grpc.Core;
using Grpc.Net.Client;
using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;

namespace ProtoRpc.Peers.Stubs;

/// <summary>The services of this folder on one endpoint, and a generated client of it.</summary>
internal sealed class CaseServer : IAsyncDisposable
{
    /// <summary>Our client at a server of Grpc.AspNetCore.</summary>
    public const string ToGrpcAspNetCore = "to Grpc.AspNetCore";

    /// <summary>Grpc.Net.Client at our server.</summary>
    public const string FromGrpcNetClient = "from Grpc.Net.Client";

    private readonly List<object> _parts = [];

    private CaseServer(CaseService service) => Service = service;

    /// <summary>Endpoints of ours with our client, and the two pairs with gRPC for .NET.</summary>
    public static IReadOnlyList<string> All { get; } =
    [
        "tcp://127.0.0.1:0", "pipe", "local", "inproc", "http://127.0.0.1:0/", "grpc://127.0.0.1:0",
        ToGrpcAspNetCore, FromGrpcNetClient,
    ];

    /// <summary>Those that carry streams both ways.</summary>
    public static IReadOnlyList<string> Streaming { get; } =
        ["inproc", "grpc://127.0.0.1:0", ToGrpcAspNetCore, FromGrpcNetClient];

    public CaseService Service { get; }

    public CallInvoker Invoker { get; private set; } = null!;

    public Cases.CasesClient Client => new(Invoker);

    /// <summary>Where our server listens; null for another's.</summary>
    public RpcEndpoint? Endpoint { get; private set; }

    public static async Task<CaseServer> StartAsync(string kind, RpcClientOptions? options = null)
    {
        CaseServer server = new(new CaseService());
        if (kind == ToGrpcAspNetCore)
        {
            PeerApplication application = await PeerApplication.StartAsync(
                services =>
                {
                    services.AddGrpc(grpc => grpc.MaxReceiveMessageSize = null);
                    services.AddSingleton(server.Service);
                    services.AddSingleton<StrictService>();
                },
                web =>
                {
                    web.MapGrpcService<CaseService>();
                    web.MapGrpcService<StrictService>();
                });
            server._parts.Add(application);
            server.Connect(application.Endpoint, options);
            return server;
        }

        string name = $"cases-{Guid.NewGuid():N}";
        RpcServer ours = RpcServer.Create(new RpcServerOptions().WithHttp())
            .AddGrpcService(server.Service)
            .AddGrpcService(new StrictService())
            .AddEndpoint(kind switch
            {
                "pipe" => $"pipe://./{name}",
                "local" => $"local://{name}",
                "inproc" => $"inproc://{name}",
                FromGrpcNetClient => "grpc://127.0.0.1:0",
                _ => kind,
            })
            .StartListening();
        server._parts.Add(ours);
        server.Endpoint = ours.Endpoints[0];
        if (kind == FromGrpcNetClient)
        {
            GrpcChannel channel = GrpcNetClient.Open(
                ours.Endpoints[0], new GrpcChannelOptions { MaxReceiveMessageSize = null });
            server._parts.Add(channel);
            server.Invoker = channel.CreateCallInvoker();
        }
        else
        {
            server.Connect(ours.Endpoints[0], options);
        }

        return server;
    }

    public async ValueTask DisposeAsync()
    {
        foreach (object part in Enumerable.Reverse(_parts))
        {
            if (part is IAsyncDisposable disposable)
            {
                await disposable.DisposeAsync();
            }
            else
            {
                ((IDisposable)part).Dispose();
            }
        }
    }

    private void Connect(RpcEndpoint endpoint, RpcClientOptions? options)
    {
        RpcClient client = RpcClient.Connect(endpoint, options);
        _parts.Add(client);
        Invoker = client.CreateCallInvoker();
    }
}
