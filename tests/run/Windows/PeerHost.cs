using System.ComponentModel;
using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;
using ProtoRpc.WindowsTests;

namespace ProtoRpc.TestRun.Windows;

/// <summary>Starts programs of this machine for tests under Wine, which have no pipes to them.</summary>
internal sealed partial class PeerHost : IAsyncDisposable
{
    // The exit code of a shell for a missing program.
    private const int NotFound = 127;

    private const int BufferSize = 1 << 16;

    // A grandchild may keep the output open, and an ended test may leave its connection open.
    private static readonly TimeSpan Grace = TimeSpan.FromSeconds(5);

    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly CancellationTokenSource _end = new();
    private readonly string _prefix;
    private readonly string _token = RandomNumberGenerator.GetHexString(32);
    private readonly Task _accepting;

    /// <param name="prefix">The folder of the Wine that the tests run under.</param>
    public PeerHost(string prefix)
    {
        _prefix = prefix;
        _listener.Start();
        _accepting = AcceptAsync();
    }

    /// <summary>The port on loopback and the token, for <see cref="PeerRequest.Variable"/>. A secret: who has
    /// it may start any program.</summary>
    public string Address => $"{((IPEndPoint)_listener.LocalEndpoint).Port} {_token}";

    /// <summary>An argument with the path that a path of Wine's is outside of it; another argument stays as
    /// it is.</summary>
    internal static string ToUnix(string argument, string prefix) =>
        DrivePath().Match(argument) is { Success: true } match
            ? match.Groups[1].Value
                + (match.Groups[2].Value is "Z" ? "/" : $"{prefix}/drive_c/")
                + argument[match.Length..].Replace('\\', '/')
            : argument;

    public async ValueTask DisposeAsync()
    {
        await _end.CancelAsync();
        _listener.Stop();
        await _accepting;
        _end.Dispose();
    }

    private async Task AcceptAsync()
    {
        List<Task> connections = [];
        try
        {
            while (true)
            {
                TcpClient connection = await _listener.AcceptTcpClientAsync(_end.Token);
                connections.RemoveAll(task => task.IsCompleted);
                connections.Add(ServeAsync(connection));
            }
        }
        catch (Exception e) when (_end.IsCancellationRequested
            && e is OperationCanceledException or SocketException or InvalidOperationException)
        {
            await Task.WhenAll(connections);
        }
    }

    private async Task ServeAsync(TcpClient connection)
    {
        using (connection)
        {
            try
            {
                NetworkStream stream = connection.GetStream();
                PeerRequest request = await PeerRequest.ReadAsync(stream, _end.Token);
                if (CryptographicOperations.FixedTimeEquals(
                    Encoding.UTF8.GetBytes(request.Token), Encoding.UTF8.GetBytes(_token)))
                {
                    await RunAsync(request, stream, connection.Client);
                }
            }
            catch (Exception e) when (e is IOException or OperationCanceledException or FormatException)
            {
                // The test or this run has ended, or another program has connected.
            }
        }
    }

    private async Task RunAsync(PeerRequest request, NetworkStream stream, Socket socket)
    {
        using Process? process = Start(request, out string whyNot);
        if (process is null)
        {
            await new PeerPart(PeerPart.Source.Errors, Encoding.UTF8.GetBytes(whyNot)).WriteAsync(stream);
            await PeerPart.OfExit(NotFound).WriteAsync(stream);
            return;
        }

        using SemaphoreSlim gate = new(1);
        Task input = ForwardAsync(stream, process);
        try
        {
            Task output = Task.WhenAll(
                SendAsync(process.StandardOutput.BaseStream, PeerPart.Source.Output, stream, gate),
                SendAsync(process.StandardError.BaseStream, PeerPart.Source.Errors, stream, gate));
            await Task.WhenAny(process.WaitForExitAsync(_end.Token), input);
            End(process);
            await Task.WhenAny(output, Task.Delay(Grace, _end.Token));
            await gate.WaitAsync(_end.Token);
            await PeerPart.OfExit(process.ExitCode).WriteAsync(stream);
            // Half-closed first, because a reset would lose the sent bytes.
            socket.Shutdown(SocketShutdown.Send);
            await Task.WhenAny(input, Task.Delay(Grace, _end.Token));
        }
        finally
        {
            End(process);
        }
    }

    private Process? Start(PeerRequest request, out string whyNot)
    {
        ProcessStartInfo start = new(request.Program, request.Arguments.Select(text => ToUnix(text, _prefix)))
        {
            WorkingDirectory = _prefix,
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        foreach ((string name, string? value) in request.Variables)
        {
            start.Environment[name] = value is null ? null : ToUnix(value, _prefix);
        }

        try
        {
            whyNot = "";
            return Process.Start(start);
        }
        catch (Win32Exception e)
        {
            whyNot = e.Message;
            return null;
        }
    }

    // Ends when the test closes the connection.
    private async Task ForwardAsync(NetworkStream from, Process to)
    {
        byte[] buffer = new byte[BufferSize];
        try
        {
            while (await from.ReadAsync(buffer, _end.Token) is int count and > 0)
            {
                await WriteAsync(to, buffer.AsMemory(0, count));
            }
        }
        catch (Exception e) when (e is IOException or OperationCanceledException)
        {
            // The program has ended or closed its input.
        }
    }

    private static async Task WriteAsync(Process to, ReadOnlyMemory<byte> bytes)
    {
        try
        {
            await to.StandardInput.BaseStream.WriteAsync(bytes);
            await to.StandardInput.BaseStream.FlushAsync();
        }
        catch (IOException)
        {
            // The program has closed its input. Its output shows the test the reason.
        }
    }

    private static async Task SendAsync(Stream from, PeerPart.Source source, Stream to, SemaphoreSlim gate)
    {
        byte[] buffer = new byte[BufferSize];
        while (await from.ReadAsync(buffer) is int count and > 0)
        {
            await gate.WaitAsync();
            try
            {
                await new PeerPart(source, buffer.AsMemory(0, count)).WriteAsync(to);
            }
            finally
            {
                gate.Release();
            }
        }
    }

    private static void End(Process process)
    {
        if (!process.HasExited)
        {
            process.Kill(entireProcessTree: true);
            process.WaitForExit();
        }
    }

    [GeneratedRegex(@"^(-[a-z-]+=)?([CZ]):\\")]
    private static partial Regex DrivePath();
}
