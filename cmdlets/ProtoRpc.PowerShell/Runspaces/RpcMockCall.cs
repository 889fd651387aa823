using System.Collections;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc;

/// <summary>A call that a mock received, as the shell shows it.</summary>
public sealed class RpcMockCall
{
    private readonly RpcRecordedCall _call;

    internal RpcMockCall(RpcRecordedCall call)
    {
        _call = call;
        Request = ToObject(call.Requests, call.Method.IsClientStreaming);
        Reply = ToObject(call.Replies, call.Method.IsServerStreaming);
        Headers = HeaderMapping.ToHashtable(call.Headers);
        Status = call.Status;
    }

    /// <summary>When the mock received the call.</summary>
    public DateTimeOffset Time => _call.Time;

    /// <summary>The full name of the method.</summary>
    public string Method => _call.Method.FullName;

    /// <summary>The request; an array if the method streams requests.</summary>
    public object? Request { get; }

    /// <summary>The reply; an array if the method streams replies. Null if the call failed before a
    /// reply.</summary>
    public object? Reply { get; }

    /// <summary>The status of the call; null while it runs.</summary>
    public RpcStatusCode? Status { get; }

    /// <summary>The error text that was sent to the caller; empty for none.</summary>
    public string Message => _call.Message;

    /// <summary>The caller's name; empty for an anonymous caller.</summary>
    public string User => _call.User;

    /// <summary>The caller's address and port; empty on local endpoints.</summary>
    public string Peer => _call.Peer;

    /// <summary>The headers of the request. Values are bytes if the name ends in -bin.</summary>
    public IDictionary Headers { get; }

    /// <summary>The duration of the call in milliseconds; null while it runs.</summary>
    public double? Milliseconds => _call.Duration?.TotalMilliseconds;

    /// <summary>Whether messages are missing, because the call had too many or too large ones.</summary>
    public bool IsTruncated => _call.IsTruncated;

    internal RpcRecordedCall Record => _call;

    /// <inheritdoc/>
    public override string ToString() => _call.ToString();

    private static object? ToObject(IReadOnlyList<DynamicMessage> messages, bool isStream)
    {
        MessageMapper mapper = ShellMapper.Create(asHashtable: false);
        object[] objects = [.. messages.Select(mapper.ToObject)];
        return isStream ? objects : objects.FirstOrDefault();
    }
}
