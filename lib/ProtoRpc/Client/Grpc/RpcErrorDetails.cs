using Google.Protobuf.WellKnownTypes;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc;

/// <summary>Reads the details of a failed call as generated messages.</summary>
/// <example><code>
/// try
/// {
///     await client.InvokeAsync&lt;PlaceReply>("Place", request);
/// }
/// catch (RpcException e) when (e.GetDetail&lt;OrderEvent>() is { } soldOut)
/// {
///     Console.WriteLine($"Sold out: {soldOut.Text}");
/// }
/// </code></example>
public static class RpcErrorDetails
{
    /// <summary>The first detail of a type; null for none.</summary>
    /// <typeparam name="TDetail">A generated class, such as <c>Google.Rpc.BadRequest</c>.</typeparam>
    /// <param name="error">The failure of the call.</param>
    public static TDetail? GetDetail<TDetail>(this RpcException error)
        where TDetail : class, IMessage<TDetail>, new() => error.GetDetails<TDetail>().FirstOrDefault();

    /// <summary>All details of a type, in order. A detail that is not a message of its type, or that is over
    /// a limit of <see cref="RpcLimits"/>, is left out.</summary>
    /// <inheritdoc cref="GetDetail{TDetail}"/>
    public static IEnumerable<TDetail> GetDetails<TDetail>(this RpcException error)
        where TDetail : class, IMessage<TDetail>, new()
    {
        ArgumentNullException.ThrowIfNull(error);
        foreach (IMessage detail in error.Details.OfType<IMessage>())
        {
            if ((detail as TDetail ?? Read<TDetail>(detail)) is { } typed)
            {
                yield return typed;
            }
        }
    }

    private static TDetail? Read<TDetail>(IMessage detail)
        where TDetail : class, IMessage<TDetail>, new()
    {
        try
        {
            Any packed = GrpcStatusDetails.Pack(detail);
            if (GrpcStatusDetails.NameOf(packed) != Generated<TDetail>.Descriptor.FullName)
            {
                return null;
            }

            RpcLimits limits = RpcLimits.Default;
            GeneratedLimits.Check(
                Known<TDetail>.Type, packed.Value.Span, limits.MaxMessageElements,
                limits.MaxGeneratedMapEntries);
            return Generated<TDetail>.Parser.ParseFrom(packed.Value);
        }
        catch (Exception e) when (e is RpcException or InvalidProtocolBufferException)
        {
            return null;
        }
    }

    // Cached for each class, because creating the schema reads all files that the class imports.
    private static class Known<TDetail>
        where TDetail : class, IMessage<TDetail>, new()
    {
        public static readonly RpcMessageInfo Type =
            RpcSchema.FromDescriptors(Generated<TDetail>.Descriptor.File)
                .GetMessage(Generated<TDetail>.Descriptor.FullName);
    }
}
