using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;
using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>The stubs of requests and responses in NDR. The first byte chooses which, and the byte
/// order.</summary>
internal sealed class NdrTarget : FuzzTarget
{
    public override string Name => "ndr";

    public override string Promise => "a payload lies within its stub, and is written the same way";

    public override int? BytesPerByte => 8;

    public override int FixedBytes => 4096;

    public override IEnumerable<byte[]> Seeds() => Vectors.All
        .Where(vector => vector.Key.StartsWith("ndr-", StringComparison.Ordinal))
        .SelectMany(vector => Enumerable.Range(0, 8).Select(
            choice => (byte[])[(byte)choice, .. vector.Value.AsSpan(PduHeader.CallSize)]));

    public override bool Run(byte[] input, Meter meter)
    {
        Tail tail = new(input);
        int choice = tail.Byte();
        bool littleEndian = (choice & 2) == 0;
        bool allowTrailing = (choice & 4) == 0;
        byte[] stub = tail.Rest.ToArray();
        return meter.Measure(() => (choice & 1) == 0
            ? Request(stub, littleEndian, allowTrailing)
            : Response(stub, littleEndian, allowTrailing));
    }

    private static bool Request(byte[] stub, bool littleEndian, bool allowTrailing)
    {
        if (!ExecStub.TryReadRequest(stub, littleEndian, allowTrailing, out ReadOnlyMemory<byte> payload))
        {
            return false;
        }

        byte[] written = new byte[ExecStub.RequestPrefix + payload.Length];
        ExecStub.WriteRequestPrefix(written, payload.Length);
        payload.CopyTo(written.AsMemory(ExecStub.RequestPrefix));
        Require(
            !littleEndian || stub.AsSpan().StartsWith(written), "a request is written as it was read");
        return true;
    }

    private static bool Response(byte[] stub, bool littleEndian, bool allowTrailing)
    {
        if (!ExecStub.TryReadResponse(
            stub, littleEndian, allowTrailing, out ReadOnlyMemory<byte> payload, out uint code))
        {
            return false;
        }

        byte[] written = new byte[ExecStub.ResponsePrefix + payload.Length + ExecStub.ResponseSuffix];
        payload.CopyTo(written.AsMemory(ExecStub.ResponsePrefix));
        int length = ExecStub.WriteResponse(written, payload.Length, code);
        Require(
            ExecStub.TryReadResponse(
                written.AsMemory(0, length), true, false, out ReadOnlyMemory<byte> again, out uint codeAgain)
            && codeAgain == code
            && (code != 0 || again.Span.SequenceEqual(payload.Span)),
            "a response is read as it was written");
        return true;
    }
}
