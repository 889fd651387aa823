using System.ComponentModel;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Peers;

/// <summary>The peers of a report, built and tried.</summary>
internal sealed class PeerSet : IDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-peers-");
    private readonly List<PeerStack> _stacks = [];
    private readonly List<string> _absent = [];

    private PeerSet()
    {
    }

    /// <summary>What can be measured.</summary>
    public IReadOnlyList<PeerStack> Stacks => _stacks;

    /// <summary>What cannot, each in a sentence with its reason.</summary>
    public IReadOnlyList<string> Absent => _absent;

    /// <summary>Builds the peers of the options, and tries each over TCP and over a Unix socket.</summary>
    public static PeerSet Prepare(BenchmarkOptions options)
    {
        PeerSet set = new();
        foreach (string peer in options.Peers)
        {
            set.Add(peer);
        }

        return set;
    }

    public void Dispose() => _folder.Delete(recursive: true);

    private void Add(string option)
    {
        string[] parts = option.Split('=', 2);
        Console.WriteLine($"Prepares the peer {parts[0]}");
        PeerProgram peer;
        try
        {
            peer = parts.Length == 2
                ? PeerProgram.Of(parts[0], parts[1])
                : parts[0] == GrpcDotnetPeer.Name ? GrpcDotnetPeer.Program
                : PeerSources.Build(parts[0], _folder.CreateSubdirectory(parts[0]).FullName);
        }
        catch (InvalidOperationException e)
        {
            _absent.Add($"{parts[0]} was not measured. {e.Message}");
            return;
        }

        Try(new PeerStack(peer, null));
        Try(new PeerStack(peer, _folder.FullName));
    }

    // A peer that fails after an hour would take the whole report with it.
    private void Try(PeerStack stack)
    {
        try
        {
            using Worker server = Worker.Server(stack.Peer, stack.NextAddress(), 1);
            using Worker client = Worker.Client(stack.Peer, server.Told, 1, 1);
            CallRound round = Worker.Round([client], TimeSpan.FromMilliseconds(100));
            server.Use();
            if (round.Calls > 0)
            {
                _stacks.Add(stack);
            }
            else
            {
                _absent.Add($"{stack.Title}, was not measured. It made no call in 100 ms.");
            }
        }
        catch (Exception e) when (e is InvalidOperationException or Win32Exception or FormatException
            or IOException or IndexOutOfRangeException)
        {
            _absent.Add($"{stack.Title}, was not measured. {e.Message}");
        }
    }
}
