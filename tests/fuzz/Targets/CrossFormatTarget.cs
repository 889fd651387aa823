using System.Collections;
using System.Text.RegularExpressions;
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
    private const string Value = "google.protobuf.Value";

    // What is no time or duration, no path of a FieldMask or no Any is only written field by field.
    private const string OfOneText = "is not a (time|duration)|the path '.*' cannot be written";

    // What a format may refuse to write, as regular expressions.
    private static readonly Dictionary<MessageFormat, string> Unwritable = new()
    {
        [MessageFormats.Binary] = "^$",
        [MessageFormats.Text] = "^$",
        [MessageFormats.Json] =
            $"{OfOneText}|a Value cannot hold NaN|the bytes in the Any",
        [MessageFormats.Xml] = $"{OfOneText}|XML cannot represent the value",
        [MessageFormats.Form] = $"{OfOneText}|a form cannot hold ",
    };

    private readonly MessageMapper _mapper = new();

    public override string Name => "formats";

    public override string Promise =>
        "a message in any format or as an object is read as it was written, or rejected if it has no text";

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
        Dictionary<MessageFormat, string> refusals = [];
        foreach (MessageFormat format in MessageFormats.All)
        {
            byte[] written = [];
            refusals[format] = RefusalOf(() => written = format.ToArray(message!, Options));
            if (refusals[format].Length == 0)
            {
                DynamicMessage again = format.Read(type, written.AsMemory(), Options);
                Require(
                    written.AsSpan().SequenceEqual(format.ToArray(again, Options)),
                    $"{format.Name} writes the same again: {message} becomes {again}");
                Require(
                    IsSame(message!, again), $"{format.Name} loses nothing: {message} becomes {again}");
            }
        }

        RequireSameVerdict(message!, refusals);
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
        return refusals.ContainsValue("");
    }

    // What a message lacks, no format writes; what else one refuses is a value that it has no text for.
    private static void RequireSameVerdict(
        DynamicMessage message, Dictionary<MessageFormat, string> refusals)
    {
        bool isComplete = refusals[MessageFormats.Text].Length == 0;
        foreach ((MessageFormat format, string refusal) in refusals)
        {
            Require(
                refusal.Length == 0
                    ? isComplete
                    : !isComplete || Regex.IsMatch(refusal, Unwritable[format], RegexOptions.Singleline),
                $"{format.Name} has the same verdict as the text format: {message}: {refusal}");
        }
    }

    private static string RefusalOf(Action write)
    {
        string refusal = "";
        _ = Accepts(
            () =>
            {
                try
                {
                    write();
                }
                catch (RpcException e)
                {
                    refusal = e.Message;
                    throw;
                }
            },
            RpcStatusCode.InvalidArgument);
        return refusal;
    }

    // Of NaN there are many, but one in a text.
    private static bool IsSame(DynamicMessage message, DynamicMessage again) =>
        message.Equals(again) || again.ToString().Contains("NaN", StringComparison.Ordinal);

    // Only the binary format keeps unknown fields; JSON has one null, whatever its number; and a FieldMask
    // whose text is empty is an empty cell of a table, which is left out.
    private static void ClearLost(DynamicMessage message)
    {
        message.ClearUnknownFields();
        if (message.Type.FullName == Value)
        {
            ClearLostOfValue(message);
            return;
        }

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

    // One without a kind is null in JSON, whose number is 0.
    private static void ClearLostOfValue(DynamicMessage value)
    {
        RpcFieldInfo nothing = value.Type.FindField("null_value")!;
        if (value.Has(nothing) || !value.Type.Fields.Any(value.Has))
        {
            value.Set(nothing, 0);
        }

        foreach (RpcFieldInfo field in value.Type.Fields.Where(value.Has))
        {
            Descend(value.Get(field));
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
