using System.Text.Json;
using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Tests.Protocols.Dce;

public static class BindVectorTests
{
    /// <summary>NDR64 1.0, a transfer syntax that this project does not support.</summary>
    internal static readonly SyntaxId Ndr64 = new(new Guid("71710533-beba-4937-8319-b5dbef9ccc36"), 1);

    private const uint Group = 343834;
    private static readonly Guid MyService = new("b1f2c2b4-5d3e-4c7a-9f10-2a6b8c0d4e5f");
    private static readonly Guid Second = new("c2a3d4e5-6f70-4812-93a4-b5c6d7e8f901");
    private static readonly SyntaxId Features = new(new Guid("6cb71c2c-9812-4540-0300-000000000000"), 1);

    public static TheoryData<string> Vectors => WireVector.Names;

    [Fact]
    public static void There_are_vectors() => Assert.Equal(33, WireVector.AllNames.Count());

    [Theory]
    [MemberData(nameof(Vectors))]
    public static void Every_header_is_read_as_recorded(string name)
    {
        WireVector vector = WireVector.Load(name);

        foreach ((byte[] pdu, JsonElement fields) in vector.Pdus.Zip(vector.PduFields))
        {
            PduHeader header = PduHeader.Read(pdu);

            Assert.Equal(PduDefect.None, header.Check(5840));
            Assert.Equal(fields.GetProperty("ptype").GetByte(), (byte)header.Type);
            Assert.Equal(WireVector.Number(fields.GetProperty("pfc_flags")), (uint)header.Flags);
            Assert.Equal(fields.GetProperty("frag_length").GetUInt16(), header.FragmentLength);
            Assert.Equal(fields.GetProperty("auth_length").GetUInt16(), header.AuthLength);
            Assert.Equal(fields.GetProperty("call_id").GetUInt32(), header.CallId);
            Assert.Equal(pdu.Length, header.FragmentLength);
            Assert.True(header.LittleEndian);
        }
    }

    [Fact]
    public static void A_bind_is_written_as_recorded() => Same(
        "bind-none",
        new BindPdu(4280, 4280, 0, [Context(0, MyService, SyntaxId.Ndr)]).ToBytes(PduType.Bind, 1));

    [Fact]
    public static void A_bind_with_all_syntaxes_is_written_as_recorded() => Same(
        "bind-windows-shape",
        new BindPdu(5840, 5840, 0,
        [
            Context(0, MyService, SyntaxId.Ndr),
            Context(1, MyService, Ndr64),
            Context(2, MyService, Features),
        ]).ToBytes(PduType.Bind, 2));

    [Fact]
    public static void A_bind_ack_is_written_as_recorded() => Same(
        "bind-ack",
        new BindAckPdu(4280, 4280, Group, "21360", [ContextResult.Accepted]).ToBytes(PduType.BindAck, 1));

    [Fact]
    public static void A_bind_ack_with_three_results_is_written_as_recorded() => Same(
        "bind-ack-windows-shape",
        new BindAckPdu(5840, 5840, Group, "21360",
        [
            ContextResult.Accepted,
            ContextResult.Refused(ContextResult.TransferNotSupported),
            ContextResult.Features(3),
        ]).ToBytes(PduType.BindAck, 2));

    [Fact]
    public static void An_alter_context_is_written_as_recorded() => Same(
        "alter-context",
        new BindPdu(4280, 4280, 0, [Context(1, Second, SyntaxId.Ndr)]).ToBytes(PduType.AlterContext, 6));

    [Fact]
    public static void Its_answer_is_written_as_recorded() => Same(
        "alter-context-resp",
        new BindAckPdu(4280, 4280, Group, "", [ContextResult.Accepted])
            .ToBytes(PduType.AlterContextResponse, 6));

    [Fact]
    public static void A_bind_nak_is_written_as_recorded() =>
        Same("bind-nak", BindNakPdu.ToBytes(BindNakReason.LocalLimit, 1));

    [Fact]
    public static void A_fault_is_written_as_recorded() =>
        Same("fault", FaultPdu.ToBytes(FaultStatus.OperationRange, 4, 0, didNotExecute: true));

    [Theory]
    [InlineData("co-cancel", PduType.CoCancel, 1)]
    [InlineData("orphaned", PduType.Orphaned, 1)]
    [InlineData("shutdown", PduType.Shutdown, 0)]
    public static void A_pdu_that_is_only_a_header_is_written_as_recorded(
        string name, object type, uint callId) =>
        Same(name, PduHeader.HeaderOnly((PduType)type, callId));

    [Theory]
    [InlineData("bind-none")]
    [InlineData("bind-windows-shape")]
    [InlineData("alter-context")]
    [InlineData("bind-ntlm")]
    public static void A_bind_is_read_as_recorded(string name)
    {
        WireVector vector = WireVector.Load(name);

        BindPdu? bind = BindPdu.Read(PduHeader.Read(vector.Bytes), vector.Bytes);

        Assert.NotNull(bind);
        Assert.Equal(name == "bind-windows-shape" ? 5840 : 4280, bind.MaxTransmit);
        Assert.Equal(0u, bind.AssociationGroup);
        JsonElement[] expected = [.. vector.Fields.GetProperty("contexts").EnumerateArray()];
        Assert.Equal(expected.Length, bind.Contexts.Count);
        foreach ((JsonElement fields, ContextProposal context) in expected.Zip(bind.Contexts))
        {
            Assert.Equal(fields.GetProperty("p_cont_id").GetUInt16(), context.Id);
            Assert.Equal(fields.GetProperty("abstract_syntax").GetString(), context.Interface.ToString());
            Assert.StartsWith(
                context.Transfers.Single().ToString(),
                fields.GetProperty("transfer_syntaxes")[0].GetString()!, StringComparison.Ordinal);
        }
    }

    [Theory]
    [InlineData("bind-ack", "21360")]
    [InlineData("bind-ack-windows-shape", "21360")]
    [InlineData("alter-context-resp", "")]
    [InlineData("bind-ack-ntlm", "21360")]
    public static void A_bind_ack_is_read_as_recorded(string name, string address)
    {
        WireVector vector = WireVector.Load(name);

        BindAckPdu? ack = BindAckPdu.Read(PduHeader.Read(vector.Bytes), vector.Bytes);

        Assert.NotNull(ack);
        Assert.Equal(Group, ack.AssociationGroup);
        Assert.Equal(address, ack.SecondaryAddress);
        Assert.Equal(ContextResult.Accepted, ack.Results[0]);
        Assert.Equal(name == "bind-ack-windows-shape" ? 3 : 1, ack.Results.Count);
    }

    [Fact]
    public static void A_bind_nak_and_a_fault_are_read_as_recorded()
    {
        byte[] nak = WireVector.Load("bind-nak").Bytes;
        byte[] fault = WireVector.Load("fault").Bytes;

        Assert.True(BindNakPdu.TryReadReason(PduHeader.Read(nak), nak, out BindNakReason reason));
        Assert.True(FaultPdu.TryReadStatus(PduHeader.Read(fault), fault, out uint status));

        Assert.Equal(BindNakReason.LocalLimit, reason);
        Assert.Equal(FaultStatus.OperationRange, status);
    }

    [Fact]
    public static void Features_are_told_from_syntaxes()
    {
        Assert.True(Features.IsFeatureNegotiation(out ushort bits));
        Assert.Equal(3, bits);
        Assert.False(SyntaxId.Ndr.IsFeatureNegotiation(out _));
        Assert.False(Ndr64.IsFeatureNegotiation(out _));
    }

    [Theory]
    [InlineData("bind-ntlm", PduHeader.Size)]
    [InlineData("bind-ack-ntlm", PduHeader.Size)]
    [InlineData("auth3-ntlm", PduHeader.Size + 4)]
    [InlineData("request-ntlm-integrity", PduHeader.CallSize)]
    [InlineData("request-ntlm-privacy", PduHeader.CallSize)]
    [InlineData("response-ntlm-integrity", PduHeader.CallSize)]
    [InlineData("response-ntlm-privacy", PduHeader.CallSize)]
    public static void A_security_trailer_is_found_where_it_is(string name, int bodyOffset)
    {
        WireVector vector = WireVector.Load(name);
        PduHeader header = PduHeader.Read(vector.Bytes);
        JsonElement expected = vector.Fields.GetProperty("trailer");

        Assert.True(AuthTrailer.TryRead(header, vector.Bytes, bodyOffset, out AuthTrailer trailer));

        Assert.Equal(expected.GetProperty("auth_type").GetByte(), trailer.Type);
        Assert.Equal(expected.GetProperty("auth_level").GetByte(), trailer.Level);
        Assert.Equal(expected.GetProperty("auth_pad_length").GetByte(), trailer.PadLength);
        Assert.Equal(expected.GetProperty("auth_context_id").GetUInt32(), trailer.ContextId);
        Assert.Equal(
            expected.GetProperty("auth_value_hex").GetString(),
            Convert.ToHexStringLower(vector.Bytes.AsSpan(vector.Bytes.Length - header.AuthLength)));
    }

    private static ContextProposal Context(ushort id, Guid interfaceId, SyntaxId transfer) =>
        new(id, SyntaxId.Interface(interfaceId), [transfer]);

    private static void Same(string name, byte[] written) =>
        Assert.Equal(WireVector.Load(name).Bytes, written);
}
