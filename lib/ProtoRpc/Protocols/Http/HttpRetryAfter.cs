using System.Net.Http.Headers;

namespace ProtoRpc.Protocols.Http;

/// <summary>Reads the time after which a server or proxy takes a request again.</summary>
internal static class HttpRetryAfter
{
    /// <summary>The pause that a response asks for, in seconds or until a date; zero if it asks for
    /// none.</summary>
    public static TimeSpan Of(HttpResponseHeaders headers)
    {
        TimeSpan pause = headers.RetryAfter switch
        {
            { Delta: { } delta } => delta,
            { Date: { } date } => date - DateTimeOffset.UtcNow,
            _ => TimeSpan.Zero,
        };
        return pause > TimeSpan.Zero ? pause : TimeSpan.Zero;
    }
}
