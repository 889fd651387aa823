using System.IO.Pipes;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using System.Security.Principal;
using ProtoRpc;
using ProtoRpc.Transports;

[assembly: Transport<WindowsPipeTransport>(RpcTransport.Local)]
[assembly: Transport<WindowsPipeTransport>(RpcTransport.NamedPipe)]

namespace ProtoRpc.Transports;

/// <summary><c>ncalrpc</c> and <c>ncacn_np</c> on Windows:
/// named pipes of the listening account alone.</summary>
[SupportedOSPlatform("windows")]
internal sealed partial class WindowsPipeTransport : INativeTransport
{
    // Local endpoints are pipes as well, under names that no ncacn_np endpoint has.
    private const string LocalPrefix = "protorpc.local\\";
    private const string ThisMachine = ".";

    private const int FileNotFound = 2;

    // 0 would mean the pipe's own default.
    private const uint ShortestWait = 1;

    /// <inheritdoc/>
    public bool IsOfThisSystem => OperatingSystem.IsWindows();

    /// <inheritdoc/>
    public TransportListener Listen(RpcEndpoint endpoint)
    {
        if (endpoint.Host.Length > 0)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"Cannot listen on '{endpoint}': a pipe listens only on this machine. Leave out the host.")
            {
                Endpoint = endpoint,
            };
        }

        return new WindowsPipeListener(endpoint, PipeName(endpoint));
    }

    /// <inheritdoc/>
    public TransportConnection Connect(RpcEndpoint endpoint, TimeSpan timeout, CancellationToken cancellation)
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
                UnauthorizedAccessException => new RpcException(
                    RpcStatusCode.PermissionDenied, $"This account may not connect to '{endpoint}'.", e)
                {
                    Endpoint = endpoint,
                },
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
