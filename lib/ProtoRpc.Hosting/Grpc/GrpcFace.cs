using Microsoft.AspNetCore.Server.Kestrel.Core;
using ProtoRpc.Calls;
using ProtoRpc.Security;

namespace ProtoRpc.Hosting.Grpc;

/// <summary>Serves methods over gRPC: HTTP/2 without TLS, with it, and on Unix sockets.</summary>
internal sealed class GrpcFace(HttpServerOptions options) : IServerFace
{
    public bool Serves(RpcTransport transport) =>
        transport is RpcTransport.Grpc or RpcTransport.Grpcs or RpcTransport.GrpcUnix;

    public IServedEndpoint Bind(RpcEndpoint endpoint, ServerHost host)
    {
        ServerTls.Check(endpoint, options);
        RequireProof(endpoint, host.Options.Security);
        return KestrelEndpoint.Start(
            endpoint,
            host.Options.Limits,
            HttpProtocols.Http2,
            ServerTls.Of(endpoint, options),
            bound => new GrpcService(host, options, bound).HandleAsync);
    }

    // NTLM and Kerberos prove who a connection is, and HTTP/2 lets many callers share one.
    private void RequireProof(RpcEndpoint endpoint, RpcServerSecurity security)
    {
        if (!security.Authentication.HasFlag(RpcAuthentication.None) && options.Security.IsOpen && !endpoint.IsLocalOnly)
        {
            throw new RpcException(
                RpcStatusCode.FailedPrecondition,
                $"Cannot listen on '{endpoint}': callers must prove who they are, and gRPC knows neither NTLM nor Kerberos. "
                + "Check passwords, tokens or certificates there, or let anonymous callers in.")
            {
                ErrorId = "NoProofOnGrpc",
                Endpoint = endpoint,
            };
        }
    }
}
