namespace ProtoRpc.Server.Recording;

/// <summary>The members of a line of recorded calls.</summary>
internal static class RecordNames
{
    public const string Time = "time";
    public const string Method = "method";
    public const string Peer = "peer";
    public const string User = "user";
    public const string Request = "request";
    public const string Requests = "requests";
    public const string Reply = "reply";
    public const string Replies = "replies";
    public const string Status = "status";
    public const string Message = "message";
    public const string Details = "details";
    public const string Milliseconds = "milliseconds";
    public const string Mask = "mask";
    public const string Truncated = "truncated";

    /// <summary>In the place of a message that has no JSON form: its bytes as base64.</summary>
    public const string Binary = "@binary";

    /// <summary>In the place of a message that has no JSON form, where masks forbid its bytes.</summary>
    public const string Unwritable = "@unwritable";

    /// <summary>The full name of a detail's type.</summary>
    public const string Type = "@type";

    /// <summary>A detail's message.</summary>
    public const string Value = "value";
}
