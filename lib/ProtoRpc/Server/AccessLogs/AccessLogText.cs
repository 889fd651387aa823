namespace ProtoRpc.Server.AccessLogs;

/// <summary>Shortens callers' texts to one line for log entries.</summary>
internal static class AccessLogText
{
    private const int MaxLength = 256;

    /// <summary>The text, cut and without control characters.</summary>
    public static string Of(string? text) => TerminalText.OneLine(text, MaxLength);

    /// <summary>The name of a caller; empty for an anonymous one.</summary>
    public static string NameOf(PeerIdentity peer)
    {
        try
        {
            return Of(peer.User.Name);
        }
        catch (Exception e) when (e is SystemException)
        {
            // Windows resolves names on demand, and its directory may be unreachable.
            return "?";
        }
    }

    /// <summary>The address or the process of a caller.</summary>
    public static string Of(PeerIdentity peer) =>
        peer.Address.Length > 0 ? peer.Address
        : peer.ProcessId != 0 ? $"pid:{peer.ProcessId}"
        : "";
}
