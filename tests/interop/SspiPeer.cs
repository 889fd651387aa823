using System.Globalization;

namespace ProtoRpc.Interop;

/// <summary>One side of an authentication by our SSPI code, run by Wine.</summary>
internal sealed class SspiPeer : IDisposable
{
    private readonly PeerProcess _process;

    private SspiPeer(PeerProcess process) => _process = process;

    /// <summary>The program; built beside the tests, in the same configuration.</summary>
    public static string Program { get; } = Path.GetFullPath(Path.Combine(
        AppContext.BaseDirectory, "../../ProtoRpc.SspiPeer", $"{Configuration}_win-x64",
        "ProtoRpc.SspiPeer.exe"));

    /// <summary>Whether its side has all that it needs.</summary>
    public bool IsComplete { get; private set; }

    // The last folder of the output.
    private static string Configuration => new DirectoryInfo(AppContext.BaseDirectory).Name;

    /// <summary>A client, or a server; with the arguments of the program.</summary>
    public static async Task<SspiPeer> StartAsync(WinePrefix wine, params string[] arguments)
    {
        SspiPeer peer = new(wine.Start(Program, arguments));
        try
        {
            Assert.Equal("ready", await peer._process.ReadLineAsync());
            return peer;
        }
        catch
        {
            peer.Dispose();
            throw;
        }
    }

    /// <summary>Makes a call to an echo on loopback.</summary>
    /// <returns>The line that it answers: the reply, or the error.</returns>
    public static async Task<string> CallAsync(WinePrefix wine, int port, params string[] arguments)
    {
        using PeerProcess process = wine.Start(Program, ["call", $"{port}", .. arguments]);
        return await process.ReadLineAsync();
    }

    /// <summary>Starts a listener that leaves it to the system who may call.</summary>
    public static async Task<(SspiPeer Peer, int Port)> ListenAsync(
        WinePrefix wine, RpcAuthentication authentication)
    {
        SspiPeer peer = new(wine.Start(Program, "listen", $"{authentication}"));
        string[] words = (await peer._process.ReadLineAsync()).Split(' ');
        Assert.Equal("port", words[0]);
        return (peer, int.Parse(words[1], CultureInfo.InvariantCulture));
    }

    /// <summary>Gives it a token; empty to begin.</summary>
    /// <returns>Its token.</returns>
    public async Task<byte[]> StepAsync(byte[] token)
    {
        string[] answer = await AskAsync("step", token);
        Assert.True(answer[0] == "token", string.Join(' ', answer));
        IsComplete = answer[^1] == "complete";
        return Convert.FromHexString(answer[1]);
    }

    /// <summary>Protects a PDU in place, as <c>sign</c> or <c>seal</c>.</summary>
    /// <returns>The signature.</returns>
    public async Task<byte[]> ProtectAsync(string how, byte[] pdu)
    {
        string[] answer = await AskAsync(how, pdu);
        Assert.True(answer[0] == "pdu", string.Join(' ', answer));
        Convert.FromHexString(answer[1]).CopyTo(pdu, 0);
        return Convert.FromHexString(answer[2]);
    }

    /// <summary>Undoes the protection of a PDU in place, as <c>verify</c> or <c>open</c>.</summary>
    /// <returns>Whether it is as the other side made it.</returns>
    public async Task<bool> UnprotectAsync(string how, byte[] pdu, byte[] signature)
    {
        string[] answer = await AskAsync(how, pdu, signature);
        if (answer[0] == "pdu")
        {
            Convert.FromHexString(answer[1]).CopyTo(pdu, 0);
            return true;
        }

        Assert.Equal("altered", answer[0]);
        return false;
    }

    /// <summary>Asks anything else.</summary>
    public async Task<string[]> AskAsync(string command, params byte[][] octets)
    {
        _process.WriteLine(string.Join(' ', [command, .. octets.Select(Convert.ToHexString)]));
        return (await _process.ReadLineAsync()).Split(' ');
    }

    public void Dispose() => _process.Dispose();
}
