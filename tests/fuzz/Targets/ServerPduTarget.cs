using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;
using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>What a server on a native endpoint gets: PDUs, before and after a bind.</summary>
internal sealed class ServerPduTarget : FuzzTarget
{
    private readonly byte[] _bind = Associations.Bind();

    public override string Name => "pdu-server";

    public override string Promise => "every conversation ends in a whole answer, a fault or a close";

    public override int? BytesPerByte => 64;

    // The buffers of an association.
    public override int FixedBytes => 256 * 1024;

    public override int MaxLength => 16 * 1024;

    public override IEnumerable<byte[]> Seeds() => Vectors.All.Values.SelectMany(
        vector => new byte[][] { [0, .. vector], [1, .. vector], [1, .. vector, .. vector] });

    public override IEnumerable<GrowingInput> Growing()
    {
        yield return new("requests", n =>
            [1, .. Repeat(n, Associations.Request([1, 2, 3], PduFlags.Single))], 512);
        yield return new("fragments of one request", n =>
        [
            1, .. Associations.Request(new byte[8], PduFlags.First),
            .. Repeat(n, Associations.Request(new byte[8], 0)),
        ], 4096);
        yield return new("cancels", n => [1, .. Repeat(n, PduHeader.HeaderOnly(PduType.CoCancel, 2))]);
        yield return new("alter contexts", n => [1, .. Repeat(n, Associations.Alter())], 512);
    }

    public override bool Run(byte[] input, Meter meter)
    {
        Tail tail = new(input);
        byte[] bytes = tail.Byte() % 2 == 0 ? tail.Rest.ToArray() : [.. _bind, .. tail.Rest];
        using ServerAssociation server = Associations.Server();
        byte[] answer = meter.Measure(() => Associations.Feed(server, bytes));
        RequireWhole(answer);
        return server.IsBound && answer.Length > 0;
    }

    internal static void RequireWhole(ReadOnlySpan<byte> answer)
    {
        while (!answer.IsEmpty)
        {
            Require(answer.Length >= PduHeader.Size, "an answer has whole headers");
            PduHeader header = PduHeader.Read(answer);
            Require(header.Check(ushort.MaxValue) == PduDefect.None, "the header of an answer is good");
            Require(header.FragmentLength <= answer.Length, "an answer has whole PDUs");
            answer = answer[header.FragmentLength..];
        }
    }

    private static IEnumerable<byte> Repeat(int count, byte[] pdu) =>
        Enumerable.Repeat(pdu, count).SelectMany(bytes => bytes);
}
