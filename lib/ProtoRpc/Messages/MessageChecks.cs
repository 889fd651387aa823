using Google.Protobuf;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc.Messages;

/// <summary>Checks that Google.Protobuf leaves to its callers.</summary>
internal static class MessageChecks
{
    /// <summary>Refuses a message whose required fields are not all there, dynamic or generated. An opaque
    /// one was checked where it was written.</summary>
    public static void RequireInitialized(IMessage message, RpcMessageInfo type)
    {
        if (message is DynamicMessage dynamic)
        {
            dynamic.CheckRequired();
        }
        else if (message is not OpaqueMessage && GeneratedRequired.FindMissing(message) is { } missing)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, $"{missing} must be set: the field is required.")
            {
                ErrorId = RpcErrorIds.MissingRequiredField,
                FieldPath = missing,
            };
        }
    }

    /// <summary>Refuses a message over the limit.</summary>
    public static void RequireSize(int size, int maxBytes, string what)
    {
        if (size > maxBytes)
        {
            throw MessageErrors.TooLarge(what, $"{size}", maxBytes);
        }
    }
}
