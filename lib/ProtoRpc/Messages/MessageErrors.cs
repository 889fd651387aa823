namespace ProtoRpc.Messages;

/// <summary>Makes exceptions of messages that are too large.</summary>
internal static class MessageErrors
{
    /// <summary>The error of a message over the limit.</summary>
    /// <param name="what">What the message is: request or reply.</param>
    /// <param name="size">Its bytes, as far as they are known.</param>
    /// <param name="maxBytes">The limit.</param>
    public static RpcException TooLarge(string what, string size, int maxBytes) => new(
        RpcStatusCode.ResourceExhausted,
        $"The {what} has {size} bytes; the limit is {maxBytes}. "
        + "Raise RpcLimits.MaxMessageBytes on both sides.");
}
