using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Hosting.Grpc;

/// <summary>The headers of a call.</summary>
internal static class GrpcRequest
{
    /// <summary>When the caller stops waiting; null where it did not say so.</summary>
    /// <exception cref="RpcException">Internal: not a time.</exception>
    public static DateTimeOffset? DeadlineOf(HttpRequest request)
    {
        string text = request.Headers[GrpcTimeout.HeaderName].ToString();
        if (text.Length == 0)
        {
            return null;
        }

        TimeSpan timeout = GrpcTimeout.Parse(text)
            ?? throw GrpcDefects.BadHeader(
                GrpcTimeout.HeaderName, text, "a time of at most eight digits and a unit");
        DateTimeOffset now = DateTimeOffset.UtcNow;
        return timeout < DateTimeOffset.MaxValue - now ? now + timeout : DateTimeOffset.MaxValue;
    }

    /// <summary>How messages are compressed.</summary>
    /// <exception cref="RpcException">Unimplemented: in a way that is not known here.</exception>
    public static string? EncodingOf(HttpRequest request)
    {
        string encoding = request.Headers[GrpcHeaders.Encoding].ToString();
        return GrpcEncoding.IsNone(encoding) ? null
            : GrpcEncoding.IsGzip(encoding) ? GrpcEncoding.Gzip
            : throw new RpcException(
                RpcStatusCode.Unimplemented,
                $"The message encoding '{encoding}' is not supported; "
                + $"use one of {GrpcEncoding.Accepted}.")
            {
                ErrorId = RpcErrorIds.UnknownGrpcEncoding,
            };
    }

    /// <summary>Whether the caller takes messages compressed with gzip.</summary>
    public static bool TakesGzip(HttpRequest request)
    {
        foreach (string? line in request.Headers[GrpcHeaders.AcceptEncoding])
        {
            if (line!.Split(',', StringSplitOptions.TrimEntries).Any(GrpcEncoding.IsGzip))
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>The call context of the request; null for none.</summary>
    /// <exception cref="RpcException">Internal: not a call context.</exception>
    public static RpcCallContext? ContextOf(HttpRequest request)
    {
        string text = request.Headers[GrpcCallContext.HeaderName].ToString();
        return text.Length == 0
            ? null
            : GrpcCallContext.Read(text) ?? throw GrpcDefects.BadHeader(
                GrpcCallContext.HeaderName, text, "a call context");
    }

    /// <summary>What the caller sent along.</summary>
    public static RpcMetadata MetadataOf(HttpRequest request)
    {
        RpcMetadata metadata = new();
        foreach ((string name, StringValues values) in request.Headers)
        {
            if (name.StartsWith(':') || GrpcHeaders.IsReserved(name))
            {
                continue;
            }

            foreach (string? value in values)
            {
                metadata.AddReceived(name, value ?? "");
            }
        }

        return metadata;
    }
}
