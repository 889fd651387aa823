using ProtoRpc.Protocols.Dce;
using static ProtoRpc.Tests.Protocols.Dce.ServerAnswers;

namespace ProtoRpc.Tests.Protocols.Dce;

public static class FragmentCancelTests
{
    [Theory]
    [InlineData(2u, CancelNotice.Cancel)]
    [InlineData(5u, CancelNotice.None)]
    public static void A_cancel_between_the_fragments_of_a_request_is_seen(uint callId, object notice)
    {
        using ServerAssociation server = Bound();
        byte[] stub = Conversation.RequestStub("a request"u8);
        byte[] bytes = Conversation.Join(
            Conversation.Fragment(stub.AsSpan(0, 8), PduFlags.First),
            PduHeader.HeaderOnly(PduType.CoCancel, callId),
            Conversation.Fragment(stub.AsSpan(8), PduFlags.Last));
        bytes.CopyTo(server.GetFreeMemory());
        server.Advance(bytes.Length);

        Assert.Equal(ServerStep.Call, server.Step());

        Assert.Equal((CancelNotice)notice, server.FindBufferedCancel());
    }
}
