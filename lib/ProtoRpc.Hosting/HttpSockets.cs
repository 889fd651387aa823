using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.Logging.Abstractions;
using ProtoRpc.Transports;

namespace ProtoRpc.Hosting;

/// <summary>Listens for Kestrel. Kestrel's own listener accepts again at once when the system has no file
/// handle for a connection, and so takes a whole processor until there is one; this one pauses.</summary>
/// <param name="bind">Makes a bound socket.</param>
/// <param name="options">How connections are read and written.</param>
internal sealed class HttpSockets(Func<EndPoint, Socket> bind, SocketConnectionFactoryOptions options)
    : IConnectionListenerFactory
{
    private const int Backlog = 512;
    private static readonly TimeSpan AcceptPause = TimeSpan.FromMilliseconds(50);

    public ValueTask<IConnectionListener> BindAsync(
        EndPoint endpoint, CancellationToken cancellationToken = default)
    {
        Socket? socket = null;
        try
        {
            socket = bind(endpoint);
            socket.Listen(Backlog);
            return ValueTask.FromResult<IConnectionListener>(new Listener(socket, options));
        }
        catch (SocketException e) when (e.SocketErrorCode == SocketError.AddressAlreadyInUse)
        {
            // Of the two addresses of localhost, Kestrel does without one that fails in another way.
            socket?.Dispose();
            throw new AddressInUseException(e.Message, e);
        }
        catch
        {
            socket?.Dispose();
            throw;
        }
    }

    private sealed class Listener(Socket socket, SocketConnectionFactoryOptions options) : IConnectionListener
    {
        private readonly SocketConnectionContextFactory _factory = new(options, NullLogger.Instance);
        private readonly CancellationTokenSource _unbound = new();

        public EndPoint EndPoint { get; } = socket.LocalEndPoint!;

        public async ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default)
        {
            while (true)
            {
                try
                {
                    Socket accepted = await socket.AcceptAsync(cancellationToken).ConfigureAwait(false);
                    if (SpareHandles.AreLeftBy(accepted))
                    {
                        return Take(accepted);
                    }

                    accepted.Dispose();
                }
                catch (Exception e) when (e is ObjectDisposedException
                    or SocketException { SocketErrorCode: SocketError.OperationAborted })
                {
                    return null;
                }
                catch (SocketException e) when (e.SocketErrorCode == SocketError.ConnectionReset)
                {
                    // Its client gave up while it waited.
                }
                catch (SocketException)
                {
                    await PauseAsync(cancellationToken).ConfigureAwait(false);
                }
            }
        }

        public ValueTask UnbindAsync(CancellationToken cancellationToken = default)
        {
            _unbound.Cancel();
            socket.Dispose();
            return ValueTask.CompletedTask;
        }

        public ValueTask DisposeAsync()
        {
            socket.Dispose();
            _factory.Dispose();
            return ValueTask.CompletedTask;
        }

        private ConnectionContext Take(Socket accepted)
        {
            try
            {
                if (accepted.LocalEndPoint is IPEndPoint)
                {
                    accepted.NoDelay = true;
                }

                return _factory.Create(accepted);
            }
            catch
            {
                accepted.Dispose();
                throw;
            }
        }

        private async Task PauseAsync(CancellationToken cancellationToken)
        {
            using CancellationTokenSource either = CancellationTokenSource.CreateLinkedTokenSource(
                cancellationToken, _unbound.Token);
            await Task.Delay(AcceptPause, either.Token)
                .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }
}
