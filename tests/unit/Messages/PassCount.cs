using ProtoRpc.Messages;

namespace ProtoRpc.Tests.Messages;

/// <summary>Counts how often the messages of a type, in one schema, are gone through.</summary>
internal sealed class PassCount
{
    private int _encodes;
    private int _checks;

    public PassCount(RpcMessageInfo type) => MessageLayout.For(type).Watch = pass => Interlocked.Increment(
        ref pass == MessagePass.Encode ? ref _encodes : ref _checks);

    /// <summary>Times that a message was encoded, and that its required fields were checked.</summary>
    public (int Encodes, int Checks) Now => (Volatile.Read(ref _encodes), Volatile.Read(ref _checks));
}
