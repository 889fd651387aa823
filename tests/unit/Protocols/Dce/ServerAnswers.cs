using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Tests.Protocols.Dce;

/// <summary>Looks at what a server association answers.</summary>
internal static class ServerAnswers
{
    public static ServerAssociation Bound(RpcLimits? limits = null)
    {
        ServerAssociation server = Conversation.Server(limits);
        Assert.Equal(PduType.BindAck, TypeOf(server.Feed(Conversation.Bind())));
        return server;
    }

    public static PduType TypeOf(byte[] answer) => PduHeader.Read(answer).Type;

    public static void AssertFault(byte[] answer, uint status)
    {
        PduHeader header = PduHeader.Read(answer);
        Assert.Equal(PduType.Fault, header.Type);
        Assert.True(header.Flags.HasFlag(PduFlags.DidNotExecute));
        Assert.True(FaultPdu.TryReadStatus(header, answer, out uint told));
        Assert.Equal(status, told);
    }
}
