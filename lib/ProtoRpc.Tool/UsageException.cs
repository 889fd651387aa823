namespace ProtoRpc.Tool;

/// <summary>What was written on the command line does not fit together;
/// the message says what would.</summary>
internal sealed class UsageException(string message, Exception? innerException = null)
    : Exception(message, innerException);
