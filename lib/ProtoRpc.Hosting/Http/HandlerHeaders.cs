using System.Collections.Frozen;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Hosting.Http;

/// <summary>The headers that a handler sees, and those that it sets.</summary>
internal static class HandlerHeaders
{
    // What says how the answer is framed and written is not for handlers.
    private static readonly FrozenSet<string> Reserved = new[]
    {
        "connection", "content-encoding", "content-length", "content-type", "date", "keep-alive", "trailer",
        "transfer-encoding", "upgrade", HttpNames.Busy,
    }.ToFrozenSet(StringComparer.OrdinalIgnoreCase);

    /// <summary>The headers of a request.</summary>
    public static RpcMetadata Read(HttpRequest request)
    {
        RpcMetadata metadata = new();
        foreach ((string name, StringValues values) in request.Headers)
        {
            foreach (string? value in values)
            {
                if (!name.StartsWith(':'))
                {
                    metadata.AddReceived(name, value ?? "");
                }
            }
        }

        return metadata;
    }

    /// <summary>Writes the headers that a handler set.</summary>
    /// <exception cref="RpcException">Internal: one of them belongs to the protocol.</exception>
    public static void Write(HttpResponse response, RpcMetadata? headers)
    {
        if (headers is null)
        {
            return;
        }

        foreach ((string name, object value) in headers)
        {
            if (Reserved.Contains(name))
            {
                throw new RpcException(
                    RpcStatusCode.Internal,
                    $"The handler set the header '{name}', which the protocol reserves. Use "
                    + "another name.")
                {
                    ErrorId = RpcErrorIds.InvalidHeader,
                };
            }

            response.Headers.Append(name, value as string ?? Convert.ToBase64String((byte[])value));
        }
    }

    /// <summary>Writes the trailers of a reply that is not streamed, as headers: the body of HTTP/1.1 has a
    /// length, and nothing comes behind it. The Connect protocol has the same rule.</summary>
    public static void WriteTrailers(HttpResponse response, RpcMetadata? trailers)
    {
        if (trailers is null)
        {
            return;
        }

        foreach ((string name, object value) in trailers)
        {
            response.Headers.Append(
                $"{HttpNames.TrailerPrefix}{name}", value as string ?? Convert.ToBase64String((byte[])value));
        }
    }

    /// <summary>Writes the trailers of a reply that streamed:
    /// behind the body where HTTP has them there.</summary>
    public static void EndStream(HttpResponse response, RpcServerCallContext context)
    {
        if (!response.HasStarted)
        {
            WriteTrailers(response, context.SetTrailers);
            return;
        }

        foreach ((string name, object value) in context.SetTrailers ?? [])
        {
            if (response.SupportsTrailers() && !Reserved.Contains(name))
            {
                response.AppendTrailer(name, value as string ?? Convert.ToBase64String((byte[])value));
            }
        }
    }

    /// <summary>Writes what the handler of a failed call set, but for what cannot be written: the failure
    /// itself is what counts.</summary>
    public static void WriteOfFailure(HttpResponse response, RpcServerCallContext context)
    {
        // Written already by a reply that then could not be.
        foreach ((string name, _) in context.SetHeaders ?? [])
        {
            response.Headers.Remove(name);
        }

        foreach ((string name, _) in context.SetTrailers ?? [])
        {
            response.Headers.Remove($"{HttpNames.TrailerPrefix}{name}");
        }

        try
        {
            Write(response, context.SetHeaders);
        }
        catch (RpcException)
        {
        }

        WriteTrailers(response, context.SetTrailers);
    }
}
