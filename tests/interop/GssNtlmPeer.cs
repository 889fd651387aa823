namespace ProtoRpc.Interop;

/// <summary>One side of an NTLM authentication by gss-ntlmssp,
/// in a process of its own with accounts of its own.</summary>
internal sealed class GssNtlmPeer : IDisposable
{
    private readonly PeerProcess _process;
    private readonly string _accounts;

    private GssNtlmPeer(PeerProcess process, string accounts) => (_process, _accounts) = (process, accounts);

    /// <summary>Whether its side has all that it needs.</summary>
    public bool IsComplete { get; private set; }

    public static Task<GssNtlmPeer> InitiateAsync(string domain, string user, string password) =>
        StartAsync(domain, user, password, "initiate", $@"{domain}\{user}");

    public static Task<GssNtlmPeer> AcceptAsync(string domain, string user, string password) =>
        StartAsync(domain, user, password, "accept");

    /// <summary>Gives it a token; empty to begin.</summary>
    /// <returns>Its token.</returns>
    /// <exception cref="GssNtlmException">It refused.</exception>
    public async Task<byte[]> StepAsync(byte[] token)
    {
        string[] answer = await AskAsync("step", token);
        IsComplete = answer[^1] == "complete";
        return Convert.FromHexString(answer[1]);
    }

    /// <summary>Who called it.</summary>
    public async Task<string> WhoAsync() => (await AskAsync("who"))[1];

    public async Task<byte[]> SignAsync(byte[] message) =>
        Convert.FromHexString((await AskAsync("sign", message))[1]);

    public Task VerifyAsync(byte[] message, byte[] signature) => AskAsync("verify", message, signature);

    /// <summary>The signature and then the encrypted message.</summary>
    public async Task<byte[]> SealAsync(byte[] message) =>
        Convert.FromHexString((await AskAsync("seal", message))[1]);

    public async Task<byte[]> OpenAsync(byte[] @sealed) =>
        Convert.FromHexString((await AskAsync("open", @sealed))[1]);

    public void Dispose()
    {
        _process.Dispose();
        File.Delete(_accounts);
    }

    private static async Task<GssNtlmPeer> StartAsync(
        string domain, string user, string password, string role, params string[] arguments)
    {
        string accounts = Path.GetTempFileName();
        await File.WriteAllTextAsync(accounts, $"{domain}:{user}:{password}\n");
        string script = Path.Combine(AppContext.BaseDirectory, "gss", "ntlm_peer.py");
        GssNtlmPeer peer = new(
            PeerProcess.Start(Peers.Python, [script, role, accounts, .. arguments]), accounts);
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

    private async Task<string[]> AskAsync(string command, params byte[][] octets)
    {
        _process.WriteLine(string.Join(' ', [command, .. octets.Select(Convert.ToHexStringLower)]));
        string answer = await _process.ReadLineAsync();
        return answer.StartsWith("error ", StringComparison.Ordinal)
            ? throw new GssNtlmException(answer["error ".Length..])
            : answer.Split(' ');
    }
}
