using System.Globalization;
using System.IO.Pipelines;
using System.Net;
using System.Net.Sockets;
using ProtoRpc.WindowsTests;

namespace ProtoRpc.Interop;

/// <summary>A program of Linux that the test runner starts for a test under Wine.</summary>
internal sealed class HostedProgram : IPeerProgram
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    private readonly TcpClient _connection = new();
    private readonly Task _receiving;
    private readonly TaskCompletionSource<int> _exit = new();

    // The exit code comes behind the output, which must not wait for a reader.
    private readonly Pipe _output = new(new PipeOptions(pauseWriterThreshold: 0));
    private readonly Pipe _errors = new(new PipeOptions(pauseWriterThreshold: 0));

    public HostedProgram(
        string program, IEnumerable<KeyValuePair<string, string?>> variables, string[] arguments)
    {
        string[] host = Address!.Split(' ');
        _connection.Connect(IPAddress.Loopback, int.Parse(host[0], CultureInfo.InvariantCulture));
        NetworkStream stream = _connection.GetStream();
        new PeerRequest(host[1], program, arguments, variables.ToDictionary()).Write(stream);
        Input = new StreamWriter(stream) { NewLine = "\n" };
        Output = new StreamReader(_output.Reader.AsStream());
        Errors = new StreamReader(_errors.Reader.AsStream());
        _receiving = ReceiveAsync(stream);
    }

    /// <summary>Whether programs of Linux are started this way.</summary>
    public static bool IsNeeded => Address is not null;

    public TextWriter Input { get; }

    public TextReader Output { get; }

    public TextReader Errors { get; }

    private static string? Address => Environment.GetEnvironmentVariable(PeerRequest.Variable);

    public int? WaitForExit(TimeSpan limit) =>
        Task.WaitAny([_exit.Task], limit) == 0 ? _exit.Task.GetAwaiter().GetResult() : null;

    public void Dispose()
    {
        try
        {
            // As with a child, it has ended afterwards.
            _connection.Client.Shutdown(SocketShutdown.Send);
            _receiving.Wait(Patience);
        }
        catch (SocketException)
        {
            // The runner closed the connection.
        }

        _connection.Dispose();
    }

    private async Task ReceiveAsync(Stream stream)
    {
        try
        {
            while (true)
            {
                PeerPart part = await PeerPart.ReadAsync(stream);
                if (part.From == PeerPart.Source.Exit)
                {
                    await CompleteAsync(null);
                    _exit.TrySetResult(part.ToExitCode());
                    return;
                }

                await (part.From == PeerPart.Source.Output ? _output : _errors).Writer.WriteAsync(part.Bytes);
            }
        }
        catch (Exception e) when (e is IOException or ObjectDisposedException)
        {
            await CompleteAsync(e);
            _exit.TrySetException(e);
        }
    }

    private async Task CompleteAsync(Exception? error)
    {
        await _output.Writer.CompleteAsync(error);
        await _errors.Writer.CompleteAsync(error);
    }
}
