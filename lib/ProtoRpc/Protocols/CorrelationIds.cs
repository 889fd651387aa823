using System.Security.Cryptography;

namespace ProtoRpc.Protocols;

/// <summary>Makes the ids under which a server logs exceptions that it does not send.</summary>
internal static class CorrelationIds
{
    private const int Bytes = 8;

    // Longer than those of any tracing system.
    private const int MaxLength = 64;

    public static string New() => Convert.ToHexStringLower(RandomNumberGenerator.GetBytes(Bytes));

    /// <summary>The id that a peer sent; null for a text that is none.</summary>
    public static string? Accept(string? received) =>
        received is { Length: > 0 and <= MaxLength }
            && received.All(c => char.IsAsciiLetterOrDigit(c) || c == '-')
            ? received
            : null;
}
