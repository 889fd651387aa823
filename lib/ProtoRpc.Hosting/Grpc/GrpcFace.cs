using System.Net.Security;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using ProtoRpc.Hosting.Http;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Security;
using ProtoRpc.Server;

namespace ProtoRpc.Hosting.Grpc;

/// <summary>Serves methods over gRPC: HTTP/2 without TLS, with it, and on Unix sockets.</summary>
internal sealed class GrpcFace(HttpServerOptions options, TlsPorts ports) : IServerFace
{
    private const string HealthName = "grpc.health.v1.Health";
    private const string ReflectionName = "grpc.reflection.v1.ServerReflection";

    public bool ChecksCallers => options.Security.IsRequired;

    public bool Serves(EndpointKindAttribute kind) => kind.Protocol == EndpointProtocol.Grpc;

    public bool IsOpenByDefault(RpcEndpoint endpoint, RpcServerSecurity security) =>
        options.Security is { IsOpen: true, AllowAnonymous: false }
        && !endpoint.Has(EndpointFeatures.KnowsCaller) && !security.IsAuthenticationSet;

    public IServedEndpoint Bind(RpcEndpoint endpoint, ServerHost host)
    {
        ServerTls.Check(endpoint, host.Options, options);
        RequireProof(endpoint, host.Options.Security);
        HealthService? health = HealthOf(host, options);
        GrpcRoutes routes = Routes(host, options, health);
        Func<RpcEndpoint, RequestDelegate> service = bound => new GrpcService(
            host, new HostPolicy(options, bound), routes,
            HttpAuthentication.OfGrpc(options.Security, host.Options.Security, bound), bound).HandleAsync;
        return new GrpcEndpoint(
            endpoint.IsTls
                ? ports.Serve(endpoint, host, options, HttpProtocols.Http1AndHttp2, service)
                : KestrelEndpoint.Start(endpoint, host, HttpProtocols.Http2, tls: null, service),
            health);
    }

    /// <summary>The health service of a server; null if it is off, or the server has its own.</summary>
    public static HealthService? HealthOf(ServerHost host, HttpServerOptions options) =>
        options.EnableHealth && !IsServed(host, HealthName)
            ? new HealthService(host.Services, options.Health)
            : null;

    private static bool IsServed(ServerHost host, string service) =>
        host.Services.Any(s => s.Info.FullName == service);

    /// <summary>The methods of a server, with those of gRPC itself unless its schema brings services of
    /// these names.</summary>
    public static GrpcRoutes Routes(ServerHost host, HttpServerOptions options, HealthService? health)
    {
        List<ServerService> services = [.. host.Services];
        if (health is not null)
        {
            host.Intercept(health.Service);
            services.Add(health.Service);
        }

        List<(string Path, ServerMethod Method)> further = [];
        if (!IsServed(host, PingProtocol.Info.Service.FullName))
        {
            further.Add(($"/{PingProtocol.Info.FullName}", ServerPing.MethodOf(host)));
        }

        if (options.EnableReflection && !IsServed(host, ReflectionName))
        {
            ServerService reflection = new ReflectionService(services).Service;
            host.Intercept(reflection);
            services.Add(reflection);
            further.Add((ReflectionService.AlphaPath, reflection.Get(reflection.Info.Methods[0].Name)));
        }

        return new GrpcRoutes(services, [.. further]);
    }

    // NTLM and Kerberos prove who a connection is, and HTTP/2 lets many callers share one. The kernel's word
    // is enough on Unix sockets, but Windows does not say who is on the other side of one.
    private void RequireProof(RpcEndpoint endpoint, RpcServerSecurity security)
    {
        if (!security.Authentication.HasFlag(RpcAuthentication.None) && options.Security.IsOpen
            && !(endpoint.IsLocalOnly && UnixPeer.IsIdentified))
        {
            throw new RpcException(
                RpcStatusCode.FailedPrecondition,
                $"Cannot listen on '{endpoint}': the listener requires authentication, "
                + "and gRPC supports neither NTLM nor Kerberos. "
                + "Check passwords, tokens or certificates instead, or allow anonymous callers.")
            {
                ErrorId = RpcErrorIds.NoProofOnGrpc,
                Endpoint = endpoint,
            };
        }
    }
}

/// <summary>A bound gRPC endpoint, which reports NOT_SERVING to watching clients before it stops.</summary>
internal sealed class GrpcEndpoint(IServedEndpoint kestrel, HealthService? health) : IServedEndpoint
{
    public RpcEndpoint Endpoint => kestrel.Endpoint;

    public int Connections => kestrel.Connections;

    public long Accepted => kestrel.Accepted;

    public Task StopAsync(TimeSpan drain)
    {
        health?.Stop();
        return kestrel.StopAsync(drain);
    }

    public void Show(SslStreamCertificateContext certificate) => kestrel.Show(certificate);
}
