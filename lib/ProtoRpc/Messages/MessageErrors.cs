namespace ProtoRpc.Messages;

/// <summary>The stable error ids of messages.</summary>
internal static class MessageErrors
{
    public const string MalformedMessage = "MalformedMessage";
    public const string UnknownField = "UnknownField";
    public const string InvalidFieldValue = "InvalidFieldValue";
    public const string OneofConflict = "OneofConflict";
    public const string MissingRequiredField = "MissingRequiredField";
    public const string TooDeep = "TooDeep";
    public const string TooManyElements = "TooManyElements";
}
