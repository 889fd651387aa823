namespace ProtoRpc.Grpc;

/// <summary>Converts headers and trailers between <see cref="Metadata"/> and <see cref="RpcMetadata"/>.
/// </summary>
internal static class StubMetadata
{
    /// <summary>The trailer with the details of a status, as a serialized google.rpc.Status.</summary>
    public const string StatusDetails = "grpc-status-details-bin";

    /// <summary>The entry by which Grpc.Core.Api selects the compression of a call. It is not sent.</summary>
    public const string Compression = "grpc-internal-encoding-request";

    /// <exception cref="RpcException">InvalidArgument: an entry cannot be sent.</exception>
    public static void CopyTo(RpcMetadata target, Metadata? source)
    {
        if (source is null)
        {
            return;
        }

        foreach (Metadata.Entry entry in source)
        {
            if (entry.Key != Compression)
            {
                Add(target, entry);
            }
        }
    }

    /// <exception cref="RpcException">InvalidArgument: the entry cannot be sent.</exception>
    public static void Add(RpcMetadata target, Metadata.Entry entry)
    {
        if (entry.IsBinary)
        {
            target.Add(entry.Key, entry.ValueBytes);
        }
        else
        {
            target.Add(entry.Key, entry.Value);
        }
    }

    public static Metadata ToGrpc(RpcMetadata source)
    {
        Metadata target = [];
        foreach ((string name, object value) in source)
        {
            // HTTP allows names that Metadata rejects with an exception, such as x!y.
            if (!IsName(name))
            {
                continue;
            }

            if (value is byte[] bytes)
            {
                target.Add(name, bytes);
            }
            else
            {
                target.Add(name, (string)value);
            }
        }

        return target;
    }

    /// <summary>The compression that a call selects by <see cref="Compression"/>; null for none.</summary>
    /// <exception cref="RpcException">Unimplemented: ProtoRpc does not have the compression.</exception>
    public static RpcCompression? CompressionOf(Metadata? headers) => headers?.GetValue(Compression) switch
    {
        null => null,
        "identity" => RpcCompression.None,
        "gzip" => RpcCompression.Gzip,
        string other => throw new RpcException(
            RpcStatusCode.Unimplemented,
            $"The compression '{other}' is not supported. Use 'gzip' or 'identity' in {Compression}."),
    };

    private static bool IsName(string name) =>
        name.Length > 0
        && name.All(c => char.IsAsciiLetterLower(c) || char.IsAsciiDigit(c) || c is '-' or '_' or '.');
}
