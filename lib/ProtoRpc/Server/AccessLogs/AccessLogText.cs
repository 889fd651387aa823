namespace ProtoRpc.Server.AccessLogs;

/// <summary>Texts of callers as entries of a log have them: of one line, and not long.</summary>
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
            // Windows looks names up when they are asked for, and its directory may be away.
            return "?";
        }
    }

    /// <summary>The address or the process of a caller.</summary>
    public static string Of(PeerIdentity peer) =>
        peer.Address.Length > 0 ? peer.Address
        : peer.ProcessId != 0 ? $"pid:{peer.ProcessId}"
        : "";
}
