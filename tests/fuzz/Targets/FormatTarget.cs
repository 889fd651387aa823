using System.Text;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>A format of text.</summary>
internal sealed class FormatTarget(MessageFormat format, params string[] tokens) : FuzzTarget
{
    private static readonly FormatOptions Loose = new() { IgnoreUnknownFields = true, NestedRepeated = true };

    public override string Name { get; } = format.Name.ToLowerInvariant();

    public override string Promise => "read, write, read is stable";

    public override IMutator Mutator { get; } = new TextMutator(tokens);

    public override int? BytesPerByte => 2048;

    // A reader of XML has tables of its own.
    public override int FixedBytes => 256 * 1024;

    public required IReadOnlyList<GrowingInput> Shapes { get; init; }

    public override IEnumerable<byte[]> Seeds() => MessageTypes.Seeds(2, Write);

    public override byte[]? Generate(Random random) => MessageTypes.Generate(random, Write);

    public override IEnumerable<GrowingInput> Growing() => Shapes;

    public override bool Run(byte[] input, Meter meter)
    {
        RpcMessageInfo type = MessageTypes.Of(input);
        byte[] body = MessageTypes.BodyOf(input);
        bool isRead = Reads(type, body, FormatOptions.Default, meter);
        bool isReadLoosely = Reads(type, body, Loose, meter);
        return isRead || isReadLoosely;
    }

    private static FormatOptions OptionsOf(FormatOptions options) =>
        options with { PrintUnknownFields = false };

    private bool Reads(RpcMessageInfo type, byte[] body, FormatOptions options, Meter meter)
    {
        DynamicMessage? message = null;
        if (!Accepts(
            () => message = meter.Measure(() => format.Read(type, body.AsMemory(), options)),
            RpcStatusCode.InvalidArgument, RpcStatusCode.ResourceExhausted))
        {
            return false;
        }

        // What a format reads it can also write, but for texts that XML cannot hold.
        byte[] written = format.ToArray(message!, OptionsOf(options));
        DynamicMessage again = format.Read(type, written.AsMemory(), options);
        Require(
            message!.Equals(again),
            $"what was written is read as it was: {Encoding.UTF8.GetString(written)}");
        Require(
            written.AsSpan().SequenceEqual(format.ToArray(again, OptionsOf(options))),
                "the text stays the same");
        return true;
    }

    private byte[]? Write(DynamicMessage message)
    {
        try
        {
            return format.ToArray(message, OptionsOf(FormatOptions.Default));
        }
        catch (RpcException e) when (e.Code == RpcStatusCode.InvalidArgument)
        {
            return null;
        }
    }
}
