using System.Text.Json;
using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Tests.Protocols.Dce;

public static class CallVectorTests
{
    public static TheoryData<string, int> Requests => new()
    {
        { "request-single", 4280 },
        { "request-three-fragments", 40 },
        { "ndr-request-0", 5840 },
        { "ndr-request-1", 5840 },
        { "ndr-request-4", 5840 },
        { "ndr-request-5", 5840 },
        { "ndr-request-10000", 5840 },
    };

    public static TheoryData<string> Responses =>
    [
        "response-single", "response-multi-fragment", "response-return-code", "ndr-response-0",
        "ndr-response-1",
        "ndr-response-4", "ndr-response-5", "ndr-response-error",
    ];

    [Theory]
    [MemberData(nameof(Requests))]
    public static void A_request_is_read_and_written_again_as_recorded(string name, int maxFragment)
    {
        WireVector vector = WireVector.Load(name);
        FragmentAssembler assembler = Assemble(vector);

        Assert.True(ExecStub.TryReadRequest(assembler.Stub, true, false, out ReadOnlyMemory<byte> payload));
        Assert.Equal(Payload(vector), payload.ToArray());

        byte[] message = new byte[PduHeader.CallSize + ExecStub.RequestPrefix + payload.Length];
        ExecStub.WriteRequestPrefix(message.AsSpan(PduHeader.CallSize), payload.Length);
        payload.CopyTo(message.AsMemory(PduHeader.CallSize + ExecStub.RequestPrefix));
        Assert.Equal(vector.Bytes, Write(message, PduType.Request, assembler.CallId, maxFragment));
    }

    [Theory]
    [MemberData(nameof(Responses))]
    public static void A_response_is_read_and_written_again_as_recorded(string name)
    {
        WireVector vector = WireVector.Load(name);
        FragmentAssembler assembler = Assemble(vector);
        JsonElement expected =
            vector.Fields.TryGetProperty("stub", out JsonElement stub) ? stub : vector.Fields;

        Assert.True(ExecStub.TryReadResponse(
            assembler.Stub, true, false, out ReadOnlyMemory<byte> payload, out uint returnCode));
        Assert.Equal(WireVector.Number(expected.GetProperty("return_code")), returnCode);
        Assert.Equal(expected.GetProperty("plReturnSize").GetInt32(), payload.Length);
        if (expected.TryGetProperty("payload_hex", out JsonElement hex))
        {
            Assert.Equal(hex.GetString(), Convert.ToHexStringLower(payload.Span));
        }

        byte[] message = new byte[
            PduHeader.CallSize + ExecStub.ResponsePrefix + payload.Length + ExecStub.ResponseSuffix];
        payload.CopyTo(message.AsMemory(PduHeader.CallSize + ExecStub.ResponsePrefix));
        int length = ExecStub.WriteResponse(message.AsSpan(PduHeader.CallSize), payload.Length, returnCode);
        byte[] written = Write(
            message.AsMemory(0, PduHeader.CallSize + length), PduType.Response, assembler.CallId, 4280);
        Assert.Equal(vector.Bytes, written);
    }

    [Theory]
    [InlineData("request-ntlm-integrity", 44)]
    [InlineData("request-ntlm-privacy", 44)]
    [InlineData("response-ntlm-integrity", 44)]
    [InlineData("response-ntlm-privacy", 44)]
    public static void The_stub_of_a_protected_pdu_ends_before_its_padding(string name, int stubLength)
    {
        byte[] pdu = WireVector.Load(name).Bytes;

        Assert.True(CallPdu.TryRead(PduHeader.Read(pdu), pdu, out CallPdu call));

        Assert.Equal(PduHeader.CallSize, call.StubOffset);
        Assert.Equal(stubLength, call.StubLength);
    }

    [Fact]
    public static void A_signed_stub_is_in_clear()
    {
        WireVector request = WireVector.Load("request-ntlm-integrity");

        FragmentAssembler assembler = Assemble(request);

        Assert.True(ExecStub.TryReadRequest(assembler.Stub, true, false, out ReadOnlyMemory<byte> payload));
        Assert.Equal(Payload(WireVector.Load("request-single")), payload.ToArray());
    }

    private static FragmentAssembler Assemble(WireVector vector)
    {
        FragmentAssembler assembler = new(1 << 20, 100);
        AssemblyState state = AssemblyState.Incomplete;
        foreach ((byte[] pdu, JsonElement fields) in vector.Pdus.Zip(vector.PduFields))
        {
            Assert.Equal(AssemblyState.Incomplete, state);
            PduHeader header = PduHeader.Read(pdu);
            Assert.True(CallPdu.TryRead(header, pdu, out CallPdu call));
            Assert.Equal(0, call.ContextId);
            Assert.Equal(0, call.Operation);
            if (fields.TryGetProperty("stub_length", out JsonElement length))
            {
                Assert.Equal(length.GetInt32(), call.StubLength);
            }

            state = assembler.Add(header, call, pdu);
        }

        Assert.Equal(AssemblyState.Complete, state);
        return assembler;
    }

    private static byte[] Payload(WireVector vector)
    {
        if (vector.Fields.TryGetProperty("payload_hex", out JsonElement hex)
            || (vector.Fields.TryGetProperty("stub", out JsonElement stub)
                && stub.TryGetProperty("payload_hex", out hex)))
        {
            return Convert.FromHexString(hex.GetString()!);
        }

        if (vector.Fields.TryGetProperty("reassembled_stub_hex", out hex))
        {
            return Convert.FromHexString(hex.GetString()!)[ExecStub.RequestPrefix..];
        }

        return [
            .. Enumerable.Range(1, vector.Fields.GetProperty("lDataSize").GetInt32()).Select(k => (byte)k)];
    }

    private static byte[] Write(Memory<byte> message, PduType type, uint callId, int maxFragment)
    {
        using FragmentWriter writer = new();
        writer.Begin(message, type, callId, 0, maxFragment);
        List<byte> written = [];
        while (writer.TryNext(out ReadOnlyMemory<byte> bytes))
        {
            written.AddRange(bytes.Span);
        }

        return [.. written];
    }
}
