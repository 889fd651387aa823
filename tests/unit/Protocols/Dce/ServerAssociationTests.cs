using System.Buffers;
using ProtoRpc.Protocols.Dce;
using static ProtoRpc.Tests.Protocols.Dce.ServerAnswers;

namespace ProtoRpc.Tests.Protocols.Dce;

public static class ServerAssociationTests
{
    private static readonly byte[] Hello = "Hello, a payload of some length"u8.ToArray();

    [Fact]
    public static void A_bind_and_a_call_give_the_same_answer_wherever_they_are_cut()
    {
        byte[] whole = Conversation.Join(Conversation.Bind(), Conversation.Request(Hello));
        byte[] expected = Normalized(Conversation.Server().Feed(whole));

        for (int cut = 0; cut <= whole.Length; cut++)
        {
            using ServerAssociation server = Conversation.Server();
            byte[] answer =
                Conversation.Join(server.Feed(whole.AsSpan(0, cut)), server.Feed(whole.AsSpan(cut)));
            Assert.Equal(expected, Normalized(answer));
        }
    }

    [Fact]
    public static void Single_bytes_are_as_good_as_whole_messages()
    {
        byte[] whole = Conversation.Join(Conversation.Bind(), Conversation.Request(Hello));
        using ServerAssociation server = Conversation.Server();
        List<byte> answer = [];

        foreach (byte octet in whole)
        {
            answer.AddRange(server.Feed([octet]));
        }

        Assert.Equal(Normalized(Conversation.Server().Feed(whole)), Normalized([.. answer]));
    }

    [Fact]
    public static void One_byte_short_is_no_call_and_one_byte_more_is_the_next_one()
    {
        byte[] call = Conversation.Request(Hello);
        using ServerAssociation server = Bound();

        Assert.Empty(server.Feed(call.AsSpan(0, call.Length - 1)));
        Assert.True(server.IsMidMessage);
        Assert.Equal(PduType.Response, TypeOf(server.Feed([call[^1], call[0]])));
        Assert.True(server.IsMidMessage);
        Assert.Equal(PduType.Response, TypeOf(server.Feed(call.AsSpan(1))));
        Assert.False(server.IsMidMessage);
    }

    [Theory]
    [InlineData((ushort)3, (ushort)0, FaultStatus.InvalidContext)]
    [InlineData((ushort)0, (ushort)1, FaultStatus.OperationRange)]
    public static void A_wrong_context_or_operation_is_a_fault_and_the_next_call_works(
        ushort context, ushort operation, uint status)
    {
        using ServerAssociation server = Bound();
        byte[] wrong = Conversation.Fragment(
            Conversation.RequestStub(Hello), PduFlags.Single, context: context, operation: operation);

        AssertFault(server.Feed(wrong), status);

        Assert.Equal(PduType.Response, TypeOf(server.Feed(Conversation.Request(Hello, callId: 3))));
    }

    [Theory]
    [InlineData("")]
    [InlineData("01000000")]
    [InlineData("0100000001000000")]
    [InlineData("0100000002000000AA")]
    [InlineData("0100000001000000AABB")]
    [InlineData("FFFFFFFFFFFFFFFFAA")]
    [InlineData("00000080000000800000")]
    [InlineData("FFFFFF7FFFFFFF7F00")]
    public static void Bad_stub_data_is_a_fault_and_the_next_call_works(string stub)
    {
        using ServerAssociation server = Bound();

        AssertFault(
            server.Feed(Conversation.Fragment(Convert.FromHexString(stub), PduFlags.Single)),
            FaultStatus.BadStubData);

        Assert.Equal(PduType.Response, TypeOf(server.Feed(Conversation.Request(Hello, callId: 3))));
    }

    [Fact]
    public static void An_object_uuid_is_skipped()
    {
        byte[] call = Conversation.Fragment(
            Conversation.Join(new byte[16], Conversation.RequestStub(Hello)),
            PduFlags.Single | PduFlags.ObjectUuid);

        Assert.Equal(PduType.Response, TypeOf(Bound().Feed(call)));
    }

    [Fact]
    public static void A_big_endian_client_is_understood_and_answered_in_little_endian()
    {
        using ServerAssociation server = Conversation.Server();

        byte[] ack = server.Feed(Conversation.BigEndian(Conversation.Bind(callId: 0x01020304)));
        byte[] reply = server.Feed(Conversation.BigEndian(Conversation.Request(Hello, callId: 0x05060708)));

        Assert.Equal(0x01020304u, PduHeader.Read(ack).CallId);
        Assert.Equal(ContextResult.Accepted, BindAckPdu.Read(PduHeader.Read(ack), ack)!.Results.Single());
        Assert.True(PduHeader.Read(reply).LittleEndian);
        Assert.Equal(0x05060708u, PduHeader.Read(reply).CallId);
        Assert.Equal(Hello, Payload(reply));
    }

    [Theory]
    [InlineData("request-ntlm-integrity", FaultStatus.AccessDenied)]
    [InlineData("request-ntlm-privacy", FaultStatus.AccessDenied)]
    public static void A_protected_request_without_security_is_denied(string vector, uint status)
    {
        using ServerAssociation server = Bound();

        AssertFault(server.Feed(WireVector.Load(vector).Bytes), status);

        Assert.True(server.IsClosed());
    }

    [Theory]
    [InlineData(PduType.Request)]
    [InlineData(PduType.AlterContext)]
    public static void Before_the_bind_everything_else_is_a_protocol_error(object type)
    {
        byte[] pdu = Conversation.Request(Hello);
        pdu[2] = (byte)(PduType)type;
        using ServerAssociation server = Conversation.Server();

        AssertFault(server.Feed(pdu), FaultStatus.ProtocolError);

        Assert.True(server.IsClosed());
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(12)]
    [InlineData(17)]
    [InlineData(20)]
    [InlineData(255)]
    public static void A_pdu_that_a_server_never_gets_closes_the_connection(byte type)
    {
        using ServerAssociation server = Bound();

        Assert.Empty(server.Feed(PduHeader.HeaderOnly((PduType)type, 1)));

        Assert.True(server.IsClosed());
    }

    [Fact]
    public static void What_is_no_dce_rpc_closes_the_connection_without_a_word()
    {
        using ServerAssociation server = Conversation.Server();

        Assert.Empty(server.Feed("GET / HTTP/1.1\r\nHost: here\r\n\r\n"u8));

        Assert.True(server.IsClosed());
    }

    [Theory]
    [InlineData(0)]
    [InlineData(15)]
    [InlineData(5841)]
    [InlineData(65535)]
    public static void A_fragment_length_that_lies_is_a_protocol_error(int length)
    {
        byte[] call = Conversation.Request(Hello);
        call[8] = (byte)length;
        call[9] = (byte)(length >> 8);
        using ServerAssociation server = Bound();

        AssertFault(server.Feed(call), FaultStatus.ProtocolError);

        Assert.True(server.IsClosed());
    }

    [Theory]
    [InlineData(1)]
    [InlineData(60)]
    [InlineData(65535)]
    public static void An_authentication_length_that_lies_is_refused(int length)
    {
        byte[] call = Conversation.Request(Hello);
        call[10] = (byte)length;
        call[11] = (byte)(length >> 8);
        using ServerAssociation server = Bound();

        Assert.Equal(PduType.Fault, TypeOf(server.Feed(call)));

        Assert.True(server.IsClosed());
    }

    [Fact]
    public static void The_allocation_hint_is_only_a_hint()
    {
        byte[] call = Conversation.Request(Hello);
        call.AsSpan(16, 4).Fill(0xFF);
        using ServerAssociation server = Bound();
        long before = GC.GetAllocatedBytesForCurrentThread();

        Assert.Equal(PduType.Response, TypeOf(server.Feed(call)));

        Assert.True(GC.GetAllocatedBytesForCurrentThread() - before < 1 << 20);
    }

    [Fact]
    public static void Fragments_are_put_together_and_cut_again()
    {
        byte[] payload = Transports.ClientCalls.Bytes(20_001);
        byte[] stub = Conversation.RequestStub(payload);
        using ServerAssociation server = Bound();
        List<byte> answer = [];
        for (int start = 0; start < stub.Length; start += 1000)
        {
            int length = Math.Min(1000, stub.Length - start);
            PduFlags flags =
                (start == 0 ? PduFlags.First : 0) | (start + length == stub.Length ? PduFlags.Last : 0);
            answer.AddRange(server.Feed(Conversation.Fragment(stub.AsSpan(start, length), flags)));
        }

        Assert.Equal(payload, Payload([.. answer]));
    }

    public static TheoryData<string> Disorders =>
    [
        "last without first", "middle without first", "first twice", "another call between",
        "another context",
        "another operation", "alter between", "other byte order",
    ];

    [Theory]
    [MemberData(nameof(Disorders))]
    public static void Fragments_out_of_order_are_a_protocol_error(string disorder)
    {
        byte[] part = new byte[16];
        byte[] first = Conversation.Fragment(part, PduFlags.First);
        byte[] last = Conversation.Fragment(part, PduFlags.Last);
        byte[] otherOrder = Conversation.BigEndian(last);
        byte[] bytes = disorder switch
        {
            "last without first" => last,
            "middle without first" => Conversation.Fragment(part, PduFlags.None),
            "first twice" => Conversation.Join(first, first),
            "another call between" =>
                Conversation.Join(first, Conversation.Fragment(part, PduFlags.Last, callId: 3)),
            "another context" =>
                Conversation.Join(first, Conversation.Fragment(part, PduFlags.Last, context: 1)),
            "another operation" =>
                Conversation.Join(first, Conversation.Fragment(part, PduFlags.Last, operation: 1)),
            "alter between" => Conversation.Join(first, WireVector.Load("alter-context").Bytes),
            _ => Conversation.Join(first, otherOrder),
        };
        using ServerAssociation server = Bound();

        AssertFault(server.Feed(bytes), FaultStatus.ProtocolError);

        Assert.True(server.IsClosed());
    }

    [Fact]
    public static void A_request_over_the_limit_is_refused_as_soon_as_it_is()
    {
        using ServerAssociation server = Bound(new RpcLimits { MaxMessageBytes = 1000 });
        byte[] stub = Conversation.RequestStub(new byte[1001]);

        Assert.Equal(PduType.Response, TypeOf(server.Feed(Conversation.Request(new byte[1000]))));
        Assert.Empty(server.Feed(Conversation.Fragment(stub.AsSpan(0, 1000), PduFlags.First)));
        AssertFault(
            server.Feed(Conversation.Fragment(stub.AsSpan(1000), PduFlags.Last)),
            FaultStatus.RequestTooLarge);
        Assert.True(server.IsClosed());
    }

    [Fact]
    public static void Empty_fragments_are_counted()
    {
        using ServerAssociation server = Bound(new RpcLimits { MaxFragments = 10 });
        server.Feed(Conversation.Fragment([], PduFlags.First));
        for (int i = 0; i < 9; i++)
        {
            Assert.Empty(server.Feed(Conversation.Fragment([], PduFlags.None)));
        }

        AssertFault(server.Feed(Conversation.Fragment([], PduFlags.None)), FaultStatus.RequestTooLarge);
    }

    [Fact]
    public static void An_orphaned_request_is_dropped_and_the_next_one_works()
    {
        using ServerAssociation server = Bound();
        server.Feed(Conversation.Fragment(new byte[16], PduFlags.First));
        Assert.True(server.IsMidMessage);

        Assert.Empty(server.Feed(PduHeader.HeaderOnly(PduType.Orphaned, 2)));

        Assert.False(server.IsMidMessage);
        Assert.Equal(PduType.Response, TypeOf(server.Feed(Conversation.Request(Hello, callId: 3))));
    }

    [Fact]
    public static void A_cancel_of_a_call_that_is_over_is_nothing()
    {
        using ServerAssociation server = Bound();
        server.Feed(Conversation.Request(Hello));

        Assert.Empty(server.Feed(WireVector.Load("co-cancel").Bytes));

        Assert.False(server.IsClosed());
    }

    [Theory]
    [InlineData(PduType.CoCancel, 2u, CancelNotice.Cancel)]
    [InlineData(PduType.Orphaned, 2u, CancelNotice.Orphan)]
    [InlineData(PduType.CoCancel, 5u, CancelNotice.None)]
    public static void A_cancel_that_came_with_the_request_is_seen(object type, uint callId, object notice)
    {
        using ServerAssociation server = Bound();
        byte[] bytes = Conversation.Join(
            Conversation.Request(Hello), PduHeader.HeaderOnly((PduType)type, callId));
        bytes.CopyTo(server.GetFreeMemory());
        server.Advance(bytes.Length);

        Assert.Equal(ServerStep.Call, server.Step());

        Assert.Equal((CancelNotice)notice, server.FindBufferedCancel());
    }

    [Fact]
    public static void A_call_without_interest_in_its_answer_is_run_and_not_answered()
    {
        using ServerAssociation server = Bound();
        byte[] call =
            Conversation.Fragment(Conversation.RequestStub(Hello), PduFlags.Single | PduFlags.Maybe);

        Assert.Empty(server.Feed(call));

        Assert.False(server.IsClosed());
    }

    [Fact]
    public static void A_reply_over_the_limit_is_an_error_of_the_writer()
    {
        using ServerAssociation server = Bound(new RpcLimits { MaxMessageBytes = 100 });

        server.Reply.Write(new byte[100]);
        RpcException error = Assert.Throws<RpcException>(() => server.Reply.Write(new byte[1]));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.True(server.Reply.Overflowed);
        server.Reply.Reset();
        Assert.False(server.Reply.Overflowed);
    }

    private static byte[] Payload(byte[] answer)
    {
        FragmentAssembler assembler = new(1 << 20, 1000);
        AssemblyState state = AssemblyState.Incomplete;
        for (int start = 0; start < answer.Length;)
        {
            PduHeader header = PduHeader.Read(answer.AsSpan(start));
            byte[] pdu = answer[start..(start + header.FragmentLength)];
            Assert.True(CallPdu.TryRead(header, pdu, out CallPdu call));
            state = assembler.Add(header, call, pdu);
            start += pdu.Length;
        }

        Assert.Equal(AssemblyState.Complete, state);
        Assert.True(
            ExecStub.TryReadResponse(assembler.Stub, true, false, out ReadOnlyMemory<byte> payload, out _));
        return payload.ToArray();
    }

    // The association group of a bind_ack is random.
    private static byte[] Normalized(byte[] answer)
    {
        answer.AsSpan(20, 4).Clear();
        return answer;
    }
}
