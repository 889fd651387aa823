using System.Collections.Frozen;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;
using ProtoRpc.Calls;

namespace ProtoRpc.Hosting.Http;

/// <summary>The headers that a handler sees, and those that it sets.</summary>
internal static class HandlerHeaders
{
    // What says how the answer is framed and written is not for handlers.
    private static readonly FrozenSet<string> Reserved = new[]
    {
        "connection", "content-encoding", "content-length", "content-type", "date", "keep-alive", "trailer",
        "transfer-encoding", "upgrade",
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
        foreach ((string name, object value) in headers ?? [])
        {
            if (Reserved.Contains(name))
            {
                throw new RpcException(
                    RpcStatusCode.Internal,
                    $"The handler set the header '{name}', whose name belongs to the protocol. Use another one.")
                {
                    ErrorId = "InvalidHeader",
                };
            }

            response.Headers.Append(name, value as string ?? Convert.ToBase64String((byte[])value));
        }
    }
}
