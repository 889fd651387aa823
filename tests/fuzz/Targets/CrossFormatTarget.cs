using System.Collections;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>Messages that came as bytes, in every format.</summary>
internal sealed class CrossFormatTarget : FuzzTarget
{
    private static readonly FormatOptions Options = new()
    {
        PrintUnknownFields = false,
        MaxFormFields = int.MaxValue,
    };
    private const string NullValue = "google.protobuf.NullValue";
    private const string FieldMask = "google.protobuf.FieldMask";

    private readonly MessageMapper _mapper = new();

    public override string Name => "formats";

    public override string Promise =>
        "each format, and objects: what was written is read and written the same";

    public override IMutator Mutator { get; } = new WireMutator(1);

    public override IEnumerable<byte[]> Seeds() => MessageTypes.Seeds(2, static m => m.ToByteArray());

    public override byte[]? Generate(Random random) =>
        MessageTypes.Generate(random, static m => m.ToByteArray());

    public override bool Run(byte[] input, Meter meter)
    {
        RpcMessageInfo type = MessageTypes.Of(input);
        DynamicMessage? message = null;
        if (!Accepts(
            () => message = DynamicMessage.Parse(type, MessageTypes.BodyOf(input).AsSpan()),
            RpcStatusCode.InvalidArgument, RpcStatusCode.ResourceExhausted))
        {
            return false;
        }

        ClearLost(message!);
        bool isWritten = false;
        foreach (MessageFormat format in MessageFormats.All)
        {
            byte[] written = [];
            // A format may refuse a value that it cannot hold, and any message may lack what is required.
            if (Accepts(() => written = format.ToArray(message!, Options), RpcStatusCode.InvalidArgument))
            {
                isWritten = true;
                DynamicMessage again = format.Read(type, written.AsMemory(), Options);
                Require(
                    written.AsSpan().SequenceEqual(format.ToArray(again, Options)),
                    $"{format.Name} writes the same again: {message} becomes {again}");
                Require(
                    IsSame(message!, again)
                        || (format != MessageFormats.Binary && format != MessageFormats.Text),
                    $"{format.Name} loses nothing: {message} becomes {again}");
            }
        }

        object? value = _mapper.ToObject(message!);
        DynamicMessage? mapped = null;
        // Some values that came as bytes may not be sent: a Duration of a million years, a missing field.
        if (Accepts(() => mapped = _mapper.ToMessage(type, value), RpcStatusCode.InvalidArgument))
        {
            byte[] bytes = mapped!.ToByteArray();
            DynamicMessage again = _mapper.ToMessage(type, _mapper.ToObject(mapped));
            Require(
                bytes.AsSpan().SequenceEqual(again.ToByteArray()),
                $"objects are made of messages and back the same again: {mapped} becomes {again}");
        }

        _ = _mapper.ToRecord(message!);
        return isWritten;
    }

    // Of NaN there are many, but one in a text.
    private static bool IsSame(DynamicMessage message, DynamicMessage again) =>
        message.Equals(again) || again.ToString().Contains("NaN", StringComparison.Ordinal);

    // Only the binary format keeps unknown fields; JSON has one null, whatever its number; and a FieldMask
    // whose text is empty is an empty cell of a table, which is left out.
    private static void ClearLost(DynamicMessage message)
    {
        message.ClearUnknownFields();
        foreach (RpcFieldInfo field in message.Type.Fields.Concat(message.Type.Extensions).Where(message.Has))
        {
            object? value = message.Get(field);
            if (field.EnumType?.FullName == NullValue
                || (value is DynamicMessage { Type.FullName: FieldMask } mask && TextOf(mask).Length == 0))
            {
                message.Clear(field);
            }
            else
            {
                Descend(value);
            }
        }
    }

    private static string TextOf(DynamicMessage mask) =>
        string.Join(',', ((IEnumerable)mask.Get(mask.Type.Fields[0])!).Cast<string>());

    private static void Descend(object? value)
    {
        switch (value)
        {
            case DynamicMessage message:
                ClearLost(message);
                break;
            case IDictionary map:
                foreach (object? each in map.Values)
                {
                    Descend(each);
                }

                break;
            case string or byte[]:
                break;
            case IEnumerable list:
                foreach (object? each in list)
                {
                    Descend(each);
                }

                break;
            default:
                break;
        }
    }
}
