using System.IO.Pipes;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using System.Security.AccessControl;
using System.Security.Principal;
using Microsoft.Win32.SafeHandles;
using ProtoRpc;
using ProtoRpc.Security;
using ProtoRpc.Transports;

[assembly: Transport<WindowsPipeTransport>(RpcTransport.Local)]

[assembly: Transport<WindowsPipeTransport>(RpcTransport.NamedPipe)]

namespace ProtoRpc.Transports;

/// <summary><c>ncalrpc</c> and <c>ncacn_np</c> on Windows:
/// named pipes of the listening account, and of those that it allows.</summary>
[SupportedOSPlatform("windows")]
internal sealed partial class WindowsPipeTransport : INativeTransport
{
    // Local endpoints are pipes as well, under names that no ncacn_np endpoint has.
    private const string LocalPrefix = "protorpc.local\\";
    private const string ThisMachine = ".";

    private const int FileNotFound = 2;

    // 0 would mean the pipe's own default.
    private const uint ShortestWait = 1;

    public bool IsOfThisSystem => OperatingSystem.IsWindows();

    public TransportListener Listen(RpcEndpoint endpoint, AllowedAccounts? allowed = null)
    {
        if (endpoint.Host.Length > 0)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"Cannot listen on '{endpoint}': a pipe listens only on this machine. Leave out the host.",
                endpoint);
        }

        return new WindowsPipeListener(endpoint, PipeName(endpoint), allowed);
    }

    public TransportConnection Connect(
        RpcEndpoint endpoint, string? serverUser, TimeSpan timeout, CancellationToken cancellation)
    {
        // Identification: the server may ask who we are, and may not act as us.
        NamedPipeClientStream pipe = new(
            endpoint.Host.Length == 0 ? ThisMachine : endpoint.Host, PipeName(endpoint), PipeDirection.InOut,
            PipeOptions.Asynchronous, TokenImpersonationLevel.Identification);
        try
        {
            if (endpoint.Host.Length == 0 && IsMissing(PipeName(endpoint)))
            {
                throw EndpointErrors.NoSuchName(endpoint, "this machine");
            }

            pipe.ConnectAsync(timeout, cancellation).GetAwaiter().GetResult();
            return new WindowsPipeConnection(pipe);
        }
        catch (Exception e)
        {
            pipe.Dispose();
            throw e switch
            {
                RpcException => e,
                TimeoutException => EndpointErrors.ConnectTimedOut(endpoint, timeout),
                OperationCanceledException => EndpointErrors.ConnectCancelled(endpoint, e),
                UnauthorizedAccessException => EndpointErrors.NotAllowed(endpoint, e),
                _ => EndpointErrors.CannotConnect(endpoint, e),
            };
        }
    }

    // Connecting waits for a pipe that may yet be made;
    // asking for the file would take an instance from the server.
    private static bool IsMissing(string name) =>
        WaitNamedPipe($@"\\.\pipe\{name}", ShortestWait) == 0
        && Marshal.GetLastPInvokeError() == FileNotFound;

    [LibraryImport(
        "kernel32",
        EntryPoint = "WaitNamedPipeW",
        SetLastError = true,
        StringMarshalling = StringMarshalling.Utf16)]
    private static partial int WaitNamedPipe(string name, uint milliseconds);

    private static string PipeName(RpcEndpoint endpoint) => endpoint.Has(EndpointFeatures.LocalOnly)
        ? LocalPrefix + endpoint.Name
        : endpoint.Name;
}

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

    public WindowsPipeListener(RpcEndpoint endpoint, string name, AllowedAccounts? allowed)
    {
        Endpoint = endpoint;
        _name = name;
        _security = AccessOf(allowed, allowNetwork: !endpoint.Has(EndpointFeatures.LocalOnly));
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

    public override RpcEndpoint Endpoint { get; }

    public override string SecondaryAddress => $@"\PIPE\{Endpoint.Name}";

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

    private static PipeSecurity AccessOf(AllowedAccounts? allowed, bool allowNetwork)
    {
        using WindowsIdentity self = WindowsIdentity.GetCurrent();
        PipeSecurity security = new();
        security.AddAccessRule(new PipeAccessRule(
            self.User!, PipeAccessRights.FullControl, AccessControlType.Allow));
        foreach (SecurityIdentifier account in allowed?.Accounts ?? [])
        {
            // Without CreateNewInstance, which would let the account serve clients under this name.
            security.AddAccessRule(new PipeAccessRule(
                account, PipeAccessRights.ReadWrite, AccessControlType.Allow));
        }

        if (!allowNetwork)
        {
            security.AddAccessRule(new PipeAccessRule(
                new SecurityIdentifier(WellKnownSidType.NetworkSid, null), PipeAccessRights.FullControl,
                AccessControlType.Deny));
        }

        return security;
    }
}

/// <summary>A connected named pipe of Windows.</summary>
[SupportedOSPlatform("windows")]
internal sealed partial class WindowsPipeConnection(PipeStream pipe) : TransportConnection
{
    private static readonly TimeSpan NoticePatience = TimeSpan.FromMilliseconds(50);
    private readonly PipeStream _pipe = pipe;
    private readonly CancellationTokenSource _aborted = new();
    private readonly CancellationTokenSource _receiving = new();

    // A blocked read of a pipe ends by a token only, so the blocking members wait for the asynchronous ones.

    public override int Receive(Memory<byte> buffer)
    {
        ValueTask<int> read = ReceiveAsync(buffer, CancellationToken.None);
        return read.IsCompletedSuccessfully ? read.Result : read.AsTask().GetAwaiter().GetResult();
    }

    public override void Send(ReadOnlyMemory<byte> bytes)
    {
        ValueTask write = _pipe.WriteAsync(bytes, _aborted.Token);
        if (!write.IsCompletedSuccessfully)
        {
            write.AsTask().GetAwaiter().GetResult();
        }
    }

    public override async ValueTask<int> ReceiveAsync(Memory<byte> buffer, CancellationToken cancellation)
    {
        using CancellationTokenSource end =
            CancellationTokenSource.CreateLinkedTokenSource(cancellation, _aborted.Token, _receiving.Token);
        try
        {
            return await _pipe.ReadAsync(buffer, end.Token).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (
            _receiving.IsCancellationRequested && !_aborted.IsCancellationRequested
            && !cancellation.IsCancellationRequested)
        {
            return 0;
        }
    }

    public override async ValueTask SendAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellation)
    {
        using CancellationTokenSource end =
            CancellationTokenSource.CreateLinkedTokenSource(cancellation, _aborted.Token);
        await _pipe.WriteAsync(bytes, end.Token).ConfigureAwait(false);
    }

    public override unsafe int Peek(Span<byte> buffer)
    {
        fixed (byte* pointer = buffer)
        {
            uint read = 0;
            uint available = 0;
            try
            {
                return PeekNamedPipe(
                    _pipe.SafePipeHandle, pointer, (uint)buffer.Length, &read, &available, null) == 0
                    ? 0
                    : available == 0 ? -1 : (int)read;
            }
            catch (Exception e) when (IsBroken(e))
            {
                return 0;
            }
        }
    }

    public override void TrySendNow(ReadOnlySpan<byte> bytes)
    {
        try
        {
            _pipe.WriteAsync(bytes.ToArray(), _aborted.Token).AsTask().Wait(NoticePatience);
        }
        catch (Exception e) when (IsBroken(e) || e is AggregateException)
        {
            // The connection is given up anyway.
        }
    }

    /// <summary>Does nothing: a pipe has no half-closed state.</summary>
    public override void FinishSending()
    {
    }

    public override void StopReceiving()
    {
        try
        {
            _receiving.Cancel();
        }
        catch (Exception e) when (IsBroken(e) || e is AggregateException)
        {
            // It was closed already.
        }
    }

    public override void Abort()
    {
        try
        {
            _aborted.Cancel();
            _pipe.Dispose();
        }
        catch (Exception e) when (IsBroken(e) || e is AggregateException)
        {
            // It was closed already.
        }
    }

    public override PeerIdentity ReadPeer() => _pipe is NamedPipeServerStream server
        ? WindowsPeer.Read(server)
        : PeerIdentity.Anonymous("");

    public override void RequireServer(RpcEndpoint endpoint, string? user) =>
        ServerAccount.Require(endpoint, WindowsPeer.ReadServer(_pipe), user);

    public override void Dispose()
    {
        _pipe.Dispose();
        _aborted.Dispose();
        _receiving.Dispose();
    }

    [LibraryImport("kernel32", SetLastError = true)]
    private static unsafe partial int PeekNamedPipe(
        SafePipeHandle pipe, byte* buffer, uint size, uint* read, uint* available, uint* left);
}
