using System.Runtime.Versioning;
using System.Security.AccessControl;
using ProtoRpc;
using ProtoRpc.Transports;
using ProtoRpc.Transports.Lrpc;

[assembly: Transport<LrpcTransport>(RpcTransport.Lrpc)]

namespace ProtoRpc.Transports.Lrpc;

/// <summary>LRPC: <c>ncalrpc</c> of Windows' own RPC runtime, which the original uses.</summary>
[SupportedOSPlatform("windows")]
internal sealed unsafe class LrpcTransport : IMessageTransport
{
    public const string Sequence = "ncalrpc";

    // RPC_C_PROTSEQ_MAX_REQS_DEFAULT.
    private const uint DefaultBacklog = 10;

    // The runtime keeps an endpoint until the process ends, and there is no function to close one.
    private static readonly HashSet<RpcEndpoint> Opened = [];

    /// <inheritdoc/>
    public bool IsOfThisSystem => OperatingSystem.IsWindows();

    /// <inheritdoc/>
    public IDisposable Listen(
        RpcEndpoint endpoint, Guid interfaceId, int maxRequest, IncomingMessageHandler handler)
    {
        OpenEndpoint(endpoint);
        return LrpcInterface.Serve(endpoint, interfaceId, maxRequest, handler);
    }

    /// <inheritdoc/>
    public IMessageConnection Open(RpcEndpoint endpoint, Guid interfaceId) =>
        new LrpcConnection(endpoint, interfaceId);

    private static void OpenEndpoint(RpcEndpoint endpoint)
    {
        lock (Opened)
        {
            if (Opened.Contains(endpoint))
            {
                return;
            }

            uint status;
            fixed (byte* security = OwnerOnly())
            {
                status = Rpcrt4.UseEndpoint(Sequence, DefaultBacklog, endpoint.Name, security);
            }

            if (status != 0)
            {
                throw LrpcErrors.CannotListen(endpoint, status);
            }

            Opened.Add(endpoint);
        }
    }

    private static byte[] OwnerOnly()
    {
        RawSecurityDescriptor security = new($"D:P(A;;GA;;;{ProcessToken.User})");
        byte[] bytes = new byte[security.BinaryLength];
        security.GetBinaryForm(bytes, 0);
        return bytes;
    }
}
