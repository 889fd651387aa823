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

/// <summary><c>ncalrpc</c> and <c>ncacn_np</c> on Windows: named pipes of the listener's account, which only
/// this account and the allowed accounts can use.</summary>
[SupportedOSPlatform("windows")]
internal sealed partial class WindowsPipeTransport : INativeTransport
{
    // Local endpoints are also pipes, under a prefix that no ncacn_np endpoint can have.
    private const string LocalPrefix = "protorpc.local\\";
    private const string ThisMachine = ".";

    private const int FileNotFound = 2;

    // A timeout of 0 would mean the pipe's default timeout.
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
        // Identification: the server can read the caller's identity, but cannot act as the caller.
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

    // Connecting waits even if the pipe does not exist. File.Exists would use an instance of the server's
    // pipe.
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
    // Without a buffer, a write waits for its reader. A listener's last PDU, a fault or a shutdown, would be
    // lost if the client is about to write.
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
            // Creating the first instance fails with either exception if the name exists, depending on the
            // owner of that pipe.
            throw EndpointErrors.InUse(endpoint, e);
        }
    }

    public override RpcEndpoint Endpoint { get; }

    public override string SecondaryAddress => $@"\PIPE\{Endpoint.Name}";

    public override async ValueTask<TransportConnection> AcceptAsync(CancellationToken cancellation)
    {
        // A client may have connected to the free instance already, if creating the next instance failed
        // before.
        NamedPipeServerStream pipe = _free;
        while (!pipe.IsConnected && !await IsConnectedAsync(pipe, cancellation).ConfigureAwait(false))
        {
            Renew();
            pipe.Dispose();
            pipe = _free;
        }

        Renew();

        // A client may read messages, each of which is one PDU. The server reads bytes, because a PDU
        // contains its length.
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

    // Returns false if the client disconnected before the server accepted it.
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

    // A client may connect while the listener is disposed. Then no new instance is created, because it would
    // keep the name and accept clients that are never served.
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
            // Without CreateNewInstance, which would allow the account to serve clients under this name.
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

    // A blocked read of a pipe can only be cancelled by a token, so the blocking members wait for the
    // asynchronous ones.

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
            // The connection is closed in any case.
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
            // The pipe is already closed.
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
            // The pipe is already closed.
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
