using System.Net;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using ProtoRpc.Transports;

namespace ProtoRpc.Hosting;

/// <summary>Kestrel's sockets, except that a connection which takes one of the last file handles is closed:
/// without any, .NET ends the process, and Kestrel's accept loop tries again without a pause.</summary>
/// <remarks>The loop of the listener closes it before the next accept. A middleware would be too late: it
/// runs on other threads, and Kestrel accepts hundreds of connections meanwhile.</remarks>
/// <param name="options">Kestrel's options of sockets.</param>
/// <param name="log">Kestrel's log.</param>
/// <param name="closed">Called for each connection that is closed.</param>
internal sealed class SparingSockets(
    IOptions<SocketTransportOptions> options, ILoggerFactory log, Action closed)
    : IConnectionListenerFactory, IConnectionListenerFactorySelector
{
    private readonly SocketTransportFactory _sockets = new(options, log);

    public bool CanBind(EndPoint endpoint) => _sockets.CanBind(endpoint);

    public async ValueTask<IConnectionListener> BindAsync(
        EndPoint endpoint, CancellationToken cancellationToken = default) =>
        new Listener(await _sockets.BindAsync(endpoint, cancellationToken).ConfigureAwait(false), closed);

    private sealed class Listener(IConnectionListener sockets, Action closed) : IConnectionListener
    {
        public EndPoint EndPoint => sockets.EndPoint;

        public async ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default)
        {
            while (true)
            {
                ConnectionContext? accepted =
                    await sockets.AcceptAsync(cancellationToken).ConfigureAwait(false);
                if (accepted?.Features.Get<IConnectionSocketFeature>() is not { } feature
                    || SpareHandles.AreLeftBy(feature.Socket))
                {
                    return accepted;
                }

                accepted.Abort(new ConnectionAbortedException("The process has no file handle to spare."));
                await accepted.DisposeAsync().ConfigureAwait(false);
                closed();
            }
        }

        public ValueTask UnbindAsync(CancellationToken cancellationToken = default) =>
            sockets.UnbindAsync(cancellationToken);

        public ValueTask DisposeAsync() => sockets.DisposeAsync();
    }
}
