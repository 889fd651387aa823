using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Tests.Protocols.Dce;

public static class ClientAssociationTests
{
    private static readonly RpcEndpoint Endpoint = RpcEndpoint.Tcp("127.0.0.1", 1);

    [Fact]
    public static void A_reply_is_taken_wherever_it_is_cut()
    {
        using ServerAssociation server = Conversation.Server();
        byte[] ack = server.Feed(Conversation.Bind(fragment: 1432));
        byte[] reply = server.Feed(Conversation.Request(Transports.ClientCalls.Bytes(5000)));

        for (int cut = 0; cut <= reply.Length; cut += 7)
        {
            using ClientAssociation client = Calling(ack);
            bool early = Feed(client, reply.AsSpan(0, cut)) == ClientStep.Reply;
            Assert.Equal(cut == reply.Length, early);
            Assert.True(early || Feed(client, reply.AsSpan(cut)) == ClientStep.Reply);
            Assert.Equal(Transports.ClientCalls.Bytes(5000), client.Reply.ToArray());
            Assert.False(client.HasInput);
        }
    }

    [Fact]
    public static void Its_bind_offers_ndr_for_its_interface()
    {
        using ClientAssociation client = new(Endpoint, Conversation.Service, RpcLimits.Default);

        byte[] bind = client.Bind(5);

        BindPdu sent = BindPdu.Read(PduHeader.Read(bind), bind)!;
        Assert.Equal((5840, 5840, 5u), (sent.MaxTransmit, sent.MaxReceive, sent.AssociationGroup));
        Assert.Equal(SyntaxId.Interface(Conversation.Service), sent.Contexts.Single().Interface);
        Assert.Equal([SyntaxId.Ndr], sent.Contexts.Single().Transfers);
        Assert.Equal(PduFlags.Single, PduHeader.Read(bind).Flags);
    }

    [Theory]
    [InlineData((ushort)2, RpcStatusCode.ResourceExhausted)]
    [InlineData((ushort)4, RpcStatusCode.Internal)]
    [InlineData((ushort)8, RpcStatusCode.Unauthenticated)]
    [InlineData((ushort)0, RpcStatusCode.Unavailable)]
    public static void A_bind_nak_is_an_error_by_its_reason(ushort reason, RpcStatusCode code)
    {
        RpcException error = Refused(BindNakPdu.ToBytes((BindNakReason)reason, 1));

        Assert.Equal(code, error.Code);
        Assert.Contains(Endpoint.ToString(), error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData((ushort)1, RpcStatusCode.Unimplemented)]
    [InlineData((ushort)2, RpcStatusCode.Unimplemented)]
    [InlineData((ushort)3, RpcStatusCode.ResourceExhausted)]
    public static void A_refused_context_is_an_error_by_its_reason(
        ushort reason, RpcStatusCode code) => Assert.Equal(
        code,
        Refused(new BindAckPdu(5840, 5840, 1, "1", [ContextResult.Refused(reason)])
            .ToBytes(PduType.BindAck, 1)).Code);

    [Fact]
    public static void Another_syntax_than_the_proposed_one_is_a_protocol_error()
    {
        ContextResult wrong = new(ContextDecision.Accepted, 0, BindVectorTests.Ndr64);

        RpcException error = Refused(new BindAckPdu(5840, 5840, 1, "1", [wrong]).ToBytes(PduType.BindAck, 1));

        Assert.Equal(RpcStatusCode.Internal, error.Code);
    }

    [Fact]
    public static void What_is_no_dce_rpc_is_named_so()
    {
        RpcException error = Refused("HTTP/1.1 400 Bad Request\r\n\r\n"u8.ToArray());

        Assert.Equal(RpcStatusCode.Internal, error.Code);
        Assert.Contains("DCE/RPC", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_fault_leaves_the_association_in_step()
    {
        using ClientAssociation client = Calling(Ack());

        ClientStep step =
            Feed(client, FaultPdu.ToBytes(FaultStatus.TooBusy, client.CallId, 0, didNotExecute: true));

        Assert.Equal(ClientStep.Fault, step);
        Assert.Equal(FaultStatus.TooBusy, client.FaultStatus);
        Assert.True(client.DidNotExecute);
        Assert.False(client.HasInput);
    }

    [Theory]
    [InlineData(28, true)]
    [InlineData(27, false)]
    [InlineData(40, true)]
    public static void A_fault_may_end_after_its_status_or_have_more(int length, bool understood)
    {
        using ClientAssociation client = Calling(Ack());
        byte[] fault = new byte[length];
        byte[] usual = FaultPdu.ToBytes(FaultStatus.Cancelled, client.CallId, 0, didNotExecute: false);
        usual.AsSpan(0, Math.Min(length, usual.Length)).CopyTo(fault);
        fault[8] = (byte)length;

        if (understood)
        {
            Assert.Equal(ClientStep.Fault, Feed(client, fault));
            Assert.Equal(FaultStatus.Cancelled, client.FaultStatus);
        }
        else
        {
            Assert.Equal(RpcStatusCode.Internal, Assert.Throws<RpcException>(() => Feed(client, fault)).Code);
        }
    }

    public static TheoryData<string> Breaches =>
    [
        "another call", "a bind_ack", "a request", "bad stub", "null pointer with size",
        "count differs", "data after",
        "last without first", "too large", "version", "a protected reply",
    ];

    [Theory]
    [MemberData(nameof(Breaches))]
    public static void A_server_that_breaks_the_protocol_is_told_from_one_that_fails(string breach)
    {
        using ClientAssociation client = Calling(Ack(), new RpcLimits { MaxMessageBytes = 2000 });
        byte[] bytes = breach switch
        {
            "another call" => Response("0000000000000200000000000000000000", client.CallId + 1),
            "a bind_ack" => Ack(),
            "a request" => Conversation.Request([], client.CallId),
            "bad stub" => Response("0000", client.CallId),
            "null pointer with size" => Response("010000000000000000000000", client.CallId),
            "count differs" => Response("0100000001000000020000000000000000000000", client.CallId),
            "data after" => Response("00000000000000000000000000", client.CallId),
            "last without first" => Response("000000000000000000000000", client.CallId, PduFlags.Last),
            "too large" => Response(new string('0', 2 * 2100), client.CallId),
            "version" => [4, .. Response("000000000000000000000000", client.CallId)[1..]],
            _ => WireVector.Load("response-ntlm-integrity").Bytes,
        };

        RpcException error = Assert.Throws<RpcException>(() => Feed(client, bytes));

        Assert.Equal(
            breach == "too large" ? RpcStatusCode.ResourceExhausted : RpcStatusCode.Internal, error.Code);
        Assert.Equal(Endpoint, error.Endpoint);
        Assert.True(error.MayHaveExecuted);
    }

    [Fact]
    public static void A_server_that_answers_every_call_as_the_first_is_taken_and_noted_once()
    {
        List<string> notes = [];
        using ClientAssociation client = Calling(Ack(), notes: notes);
        using PooledMessageBytes request = new(
            100, "request", ClientAssociation.RequestPrefix, ClientAssociation.RequestSuffix);

        for (int i = 0; i < 3; i++)
        {
            Assert.Equal(
                ClientStep.Reply, Feed(client, Response("010000000000020001000000AA00000000000000", 1)));
            Assert.Equal([0xAA], client.Reply.ToArray());
            client.BeginCall(request);
        }

        Assert.Equal(
            ClientStep.Fault, Feed(client, FaultPdu.ToBytes(FaultStatus.TooBusy, 1, 0, didNotExecute: true)));
        string note = Assert.Single(notes);
        Assert.Contains("call_id 1", note, StringComparison.Ordinal);
        Assert.Contains(Endpoint.ToString(), note, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(2, 1)]
    [InlineData(1, 2)]
    public static void Any_other_call_id_than_the_calls_own_is_refused(uint first, uint second)
    {
        using ClientAssociation client = Calling(Ack());
        using PooledMessageBytes request = new(
            100, "request", ClientAssociation.RequestPrefix, ClientAssociation.RequestSuffix);
        Assert.Equal(ClientStep.Reply, Feed(client, Response("000000000000000000000000", first)));
        client.BeginCall(request);

        RpcException error = Assert.Throws<RpcException>(
            () => Feed(client, Response("000000000000000000000000", second)));

        Assert.Equal(RpcStatusCode.Internal, error.Code);
        Assert.Contains($"answered call {second} while call 3", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_shutdown_is_told()
    {
        using ClientAssociation client = Calling(Ack());

        Assert.Equal(ClientStep.Shutdown, Feed(client, WireVector.Load("shutdown").Bytes));
    }

    [Fact]
    public static void Call_ids_are_never_zero_and_count_up()
    {
        using ClientAssociation client = Calling(Ack());
        uint first = client.CallId;
        using PooledMessageBytes request = new(
            100, "request", ClientAssociation.RequestPrefix, ClientAssociation.RequestSuffix);

        client.BeginCall(request);

        Assert.Equal((2u, 3u), (first, client.CallId));
    }

    private static byte[] Ack() => Conversation.Server().Feed(Conversation.Bind());

    private static byte[] Response(string stub, uint callId, PduFlags flags = PduFlags.Single)
    {
        byte[] pdu = Conversation.Fragment(Convert.FromHexString(stub), flags, callId);
        pdu[2] = (byte)PduType.Response;
        return pdu;
    }

    private static RpcException Refused(byte[] answer)
    {
        using ClientAssociation client = new(Endpoint, Conversation.Service, RpcLimits.Default);
        client.Bind(0);
        return Assert.Throws<RpcException>(() => Feed(client, answer));
    }

    private static ClientAssociation Calling(byte[] ack, RpcLimits? limits = null, List<string>? notes = null)
    {
        ClientAssociation client = new(Endpoint, Conversation.Service, limits ?? RpcLimits.Default)
        {
            DebugLog = notes is null ? null : notes.Add,
        };
        client.Bind(0);
        Assert.Equal(ClientStep.Bound, Feed(client, ack));
        PooledMessageBytes request = new(
            100, "request", ClientAssociation.RequestPrefix, ClientAssociation.RequestSuffix);
        client.BeginCall(request);
        Assert.True(client.TryTakeOutput(out _));
        return client;
    }

    private static ClientStep Feed(ClientAssociation client, ReadOnlySpan<byte> bytes)
    {
        ClientStep step = client.Step();
        while (step == ClientStep.Receive && !bytes.IsEmpty)
        {
            int count = Math.Min(bytes.Length, client.GetFreeMemory().Length);
            bytes[..count].CopyTo(client.GetFreeMemory().Span);
            client.Advance(count);
            bytes = bytes[count..];
            step = client.Step();
        }

        return step;
    }
}
