using System.IO.Pipes;
using System.Runtime.Versioning;
using System.Security.AccessControl;
using System.Security.Principal;

namespace ProtoRpc.Transports;

/// <summary>A named pipe of Windows, with one free instance at any time for the next client.</summary>
[SupportedOSPlatform("windows")]
internal sealed class WindowsPipeListener : TransportListener
{
    // Without a buffer, a write waits for its reader. The last PDU of a listener, a fault or a shutdown,
    // would be lost with the connection if the client is about to write.
    private const int BufferBytes = 4096;

    private readonly string _name;
    private readonly PipeSecurity _security;
    private readonly Lock _gate = new();
    private NamedPipeServerStream _free;
    private bool _isDisposed;

    public WindowsPipeListener(RpcEndpoint endpoint, string name)
    {
        Endpoint = endpoint;
        _name = name;
        _security = OwnerOnly(allowNetwork: !endpoint.Has(EndpointFeatures.LocalOnly));
        try
        {
            _free = NewInstance(PipeOptions.FirstPipeInstance);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            // The first instance fails in both ways when the name exists, depending on whose pipe it is.
            throw EndpointErrors.InUse(endpoint, e);
        }
    }

    /// <inheritdoc/>
    public override RpcEndpoint Endpoint { get; }

    /// <inheritdoc/>
    public override string SecondaryAddress => $@"\PIPE\{Endpoint.Name}";

    /// <inheritdoc/>
    public override async ValueTask<TransportConnection> AcceptAsync(CancellationToken cancellation)
    {
        // An instance may have its client already, if there was no memory for the next instance before.
        NamedPipeServerStream pipe = _free;
        while (!pipe.IsConnected && !await IsConnectedAsync(pipe, cancellation).ConfigureAwait(false))
        {
            Renew();
            pipe.Dispose();
            pipe = _free;
        }

        Renew();

        // One message is one PDU for clients that read messages; PDUs are found by their lengths here.
        pipe.ReadMode = PipeTransmissionMode.Byte;
        return new WindowsPipeConnection(pipe);
    }

    /// <inheritdoc/>
    public override void Dispose()
    {
        lock (_gate)
        {
            _isDisposed = true;
            _free.Dispose();
        }
    }

    // False for a client that was gone again before it could be served.
    private static async ValueTask<bool> IsConnectedAsync(
        NamedPipeServerStream pipe, CancellationToken cancellation)
    {
        try
        {
            await pipe.WaitForConnectionAsync(cancellation).ConfigureAwait(false);
            return true;
        }
        catch (IOException)
        {
            return false;
        }
    }

    // A client may connect while the listener is disposed. The next instance must not keep the name then, and
    // clients that nobody serves.
    private void Renew()
    {
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_isDisposed, this);
            _free = NewInstance(PipeOptions.None);
        }
    }

    private NamedPipeServerStream NewInstance(PipeOptions first) => NamedPipeServerStreamAcl.Create(
        _name, PipeDirection.InOut, NamedPipeServerStream.MaxAllowedServerInstances,
        PipeTransmissionMode.Message,
        PipeOptions.Asynchronous | first, BufferBytes, BufferBytes, _security);

    private static PipeSecurity OwnerOnly(bool allowNetwork)
    {
        using WindowsIdentity self = WindowsIdentity.GetCurrent();
        PipeSecurity security = new();
        security.AddAccessRule(new PipeAccessRule(
            self.User!, PipeAccessRights.FullControl, AccessControlType.Allow));
        if (!allowNetwork)
        {
            security.AddAccessRule(new PipeAccessRule(
                new SecurityIdentifier(WellKnownSidType.NetworkSid, null), PipeAccessRights.FullControl,
                AccessControlType.Deny));
        }

        return security;
    }
}
