using System.Globalization;
using Microsoft.Extensions.Primitives;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.AspNetCore.Http;

/// <summary>Reads the headers of a call that are for the protocol and not for the handler.</summary>
internal static class HttpRequestHead
{
    /// <summary>When the caller stops waiting; null if the request does not say so.</summary>
    /// <exception cref="HttpRefusal">The header is no time.</exception>
    public static DateTimeOffset? DeadlineOf(HttpRequest request)
    {
        string text = request.Headers[HttpNames.Timeout].ToString();
        if (text.Length == 0)
        {
            return null;
        }

        return text.Length <= 10
            && long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out long milliseconds)
                ? DateTimeOffset.UtcNow.AddMilliseconds(milliseconds)
                : throw Wrong($"{HttpNames.Timeout} is a number of milliseconds, of ten digits at most.");
    }

    /// <summary>The side channel; null if the request has none.</summary>
    /// <exception cref="HttpRefusal">The header cannot be read.</exception>
    public static RpcCallContext? ContextOf(HttpRequest request)
    {
        string text = request.Headers[HttpNames.CallContext].ToString();
        if (text.Length == 0)
        {
            return null;
        }

        try
        {
            return RpcCallContext.Parser.ParseFrom(Convert.FromBase64String(text));
        }
        catch (Exception e) when (e is FormatException or InvalidProtocolBufferException)
        {
            throw Wrong($"{HttpNames.CallContext} is not an RpcCallContext in base64.");
        }
    }

    /// <summary>Rejects other versions of the Connect protocol.</summary>
    /// <exception cref="HttpRefusal">The version is unknown.</exception>
    public static void RequireVersion(HttpRequest request)
    {
        if (request.Headers.TryGetValue(HttpNames.ConnectVersion, out StringValues version)
            && version != HttpNames.ConnectVersion1)
        {
            throw Wrong(
                $"{HttpNames.ConnectVersion} is '{version}'; this listener supports version "
                + $"{HttpNames.ConnectVersion1}.");
        }
    }

    private static HttpRefusal Wrong(string why) => new(
        StatusCodes.Status400BadRequest, RpcStatusCode.InvalidArgument, why);
}
