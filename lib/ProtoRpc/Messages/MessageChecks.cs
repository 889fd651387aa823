using Google.Protobuf;

namespace ProtoRpc.Messages;

/// <summary>Checks that Google.Protobuf leaves to its callers.</summary>
internal static class MessageChecks
{
    /// <summary>Refuses a message whose required fields are not all there, dynamic or generated.</summary>
    public static void RequireInitialized(IMessage message, RpcMessageInfo type)
    {
        if (message is DynamicMessage dynamic)
        {
            dynamic.CheckRequired();
        }
        else if (GeneratedRequired.FindMissing(message) is { } missing)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, $"{missing} must be set: the field is required.")
            {
                ErrorId = MessageErrors.MissingRequiredField,
                FieldPath = missing,
            };
        }
    }

    /// <summary>Refuses a message over the limit before a byte of it is written.</summary>
    /// <returns>The size in bytes.</returns>
    public static int RequireSize(IMessage message, int maxBytes, string what) =>
        RequireSize(message.CalculateSize(), maxBytes, what);

    /// <summary>The same for a size that is known.</summary>
    public static int RequireSize(int size, int maxBytes, string what) =>
        size <= maxBytes
            ? size
            : throw new RpcException(
                RpcStatusCode.ResourceExhausted,
                $"The {what} has {size} bytes; the limit is {maxBytes}. "
                + "Raise RpcLimits.MaxMessageBytes on both sides.");
}
